// Subgraphs of GraphSAINT: of nodes by degree, of the ends of edges, of random walks.
#include <memory>
#include <utility>

#include "common/sampling/samplers/subgraph_nodes.h"

namespace halograph {
namespace {

[[nodiscard]] uint64_t KeyOf(const MakerPlace& place) {
  return SubgraphKey(place.request.batch_seed);
}

// ---- by degree ---------------------------------------------------------------------------------

// What nodes and edges have in common: they begin with nodes by degree, and what one subgraph shows
// is enough to weigh it.
class ByDegree : public SubgraphNodes {
 public:
  explicit ByDegree(const MakerPlace& place) : place_(place) {}

  SubgraphFactors Weigh(const SubgraphEdges& edges) final {
    SubgraphWeights weights;
    WeighDraws(edges, degrees_->by_edge.total(), place_.rule().fanout, &weights);
    SubgraphFactors factors;
    factors.edges.assign(weights.factors.begin(), weights.factors.end());
    factors.nodes.reserve(weights.chances.size());
    for (const double chance : weights.chances) {
      factors.nodes.push_back(static_cast<float>(1 / chance));
    }
    return factors;
  }

 protected:
  [[nodiscard]] StatusOr<DrawnNodes> Draw() {
    degrees_ = place_.out_degrees.Find(place_.relation());
    if (degrees_ == nullptr) {
      return Internal("degrees of relation {} are missing", place_.relation());
    }
    return DrawByDegree(degrees_->by_edge, place_.rule().fanout, KeyOf(place_));
  }
  virtual void WeighDraws(const SubgraphEdges& edges, uint64_t all, int64_t draws,
                          SubgraphWeights* weights) = 0;

  const MakerPlace place_;

 private:
  std::shared_ptr<const OutDegrees> degrees_;  // since they were drawn by
};

class NodesByDegree final : public ByDegree {
 public:
  using ByDegree::ByDegree;

  Status Next(std::span<const NeighborPicks> /*answers*/, std::vector<int64_t>* nodes,
              std::vector<LayerGroup>* /*questions*/) override {
    HG_ASSIGN_OR_RETURN(DrawnNodes drawn, Draw());
    *nodes = std::move(drawn.nodes);
    return OkStatus();
  }

 private:
  void WeighDraws(const SubgraphEdges& edges, uint64_t all, int64_t draws,
                  SubgraphWeights* weights) override {
    SubgraphWeigher().WeighNodeDraws(edges, all, draws, weights);
  }
};

class EndsOfEdges final : public ByDegree {
 public:
  explicit EndsOfEdges(const MakerPlace& place) : ByDegree(place), picks_(place) {}

  Status Next(std::span<const NeighborPicks> answers, std::vector<int64_t>* nodes,
              std::vector<LayerGroup>* questions) override {
    if (!answers.empty()) {
      HG_ASSIGN_OR_RETURN(*nodes, picks_.Take(answers));
      return OkStatus();
    }
    HG_ASSIGN_OR_RETURN(DrawnNodes drawn, Draw());
    picks_.Ask(drawn, 0, questions);
    *nodes = std::move(drawn.nodes);
    return OkStatus();
  }

 private:
  void WeighDraws(const SubgraphEdges& edges, uint64_t all, int64_t draws,
                  SubgraphWeights* weights) override {
    SubgraphWeigher().WeighEdgeDraws(edges, all, draws, weights);
  }

  NodePicks picks_;
};

// ---- walks -------------------------------------------------------------------------------------

// One exchange a step. Walkers at one node pick together: they need not be told apart.
class Walks final : public SubgraphNodes {
 public:
  explicit Walks(const MakerPlace& place) : place_(place), picks_(place) {}

  Status Next(std::span<const NeighborPicks> answers, std::vector<int64_t>* nodes,
              std::vector<LayerGroup>* questions) override {
    HG_ASSIGN_OR_RETURN(DrawnNodes walkers, answers.empty() ? DrawRoots() : Step(answers));
    if (step_ < place_.rule().walk_length) picks_.Ask(walkers, step_++, questions);
    *nodes = std::move(walkers.nodes);
    return OkStatus();
  }

  SubgraphFactors Weigh(const SubgraphEdges& /*edges*/) override { return {}; }

 private:
  [[nodiscard]] StatusOr<DrawnNodes> DrawRoots() const {
    const auto type = static_cast<size_t>(place_.schema.SourceType(place_.relation()));
    return DrawUniformly(place_.schema.node_types[type].count, place_.rule().fanout, KeyOf(place_));
  }

  [[nodiscard]] StatusOr<DrawnNodes> Step(std::span<const NeighborPicks> answers) const {
    HG_ASSIGN_OR_RETURN(const std::vector<int64_t> picked, picks_.Take(answers));
    return CountPicked(picked);
  }

  const MakerPlace place_;
  NodePicks picks_;
  int step_ = 0;  // to be asked next
};

}  // namespace

std::unique_ptr<MinibatchMaker> MakeSaintNode(const MakerPlace& place) {
  return MakeSubgraph(place, std::make_unique<NodesByDegree>(place));
}

std::unique_ptr<MinibatchMaker> MakeSaintEdge(const MakerPlace& place) {
  return MakeSubgraph(place, std::make_unique<EndsOfEdges>(place));
}

std::unique_ptr<MinibatchMaker> MakeSaintWalk(const MakerPlace& place) {
  return MakeSubgraph(place, std::make_unique<Walks>(place));
}

}  // namespace halograph

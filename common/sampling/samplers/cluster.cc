// Subgraphs of ClusterGCN: some of the partitioner's clusters, whole.
#include <algorithm>
#include <memory>
#include <numeric>

#include "common/sampling/samplers/subgraph_nodes.h"

namespace halograph {
namespace {

class SomeClusters final : public SubgraphNodes {
 public:
  explicit SomeClusters(const MakerPlace& place) : place_(place) {}

  // In the order drawn, without replacement.
  Status Next(std::span<const NeighborPicks> /*answers*/, std::vector<int64_t>* nodes,
              std::vector<LayerGroup>* /*questions*/) override {
    if (place_.clusters.size() == 0) {
      return FailedPrecondition(
          "the graph has no clusters to draw: partition it with --batch-clusters N, or give "
          "another sampler");
    }
    LayerWisePicks picks;
    HG_RETURN_IF_ERROR(LayerWiseDrawer().Draw(place_.clusters.sums(), place_.rule().fanout,
                                              SubgraphKey(place_.request.batch_seed), &picks));
    for (const int64_t cluster : picks.positions) {
      const IdRange range = place_.clusters.range(static_cast<size_t>(cluster));
      const size_t begin = nodes->size();
      nodes->resize(begin + static_cast<size_t>(range.size()));
      std::iota(nodes->begin() + static_cast<int64_t>(begin), nodes->end(), range.begin);
      ends_.push_back(std::ssize(*nodes));
    }
    return OkStatus();
  }

  // Edges within a cluster come whenever their destination does, others with q - 1 of c - 1
  // clusters.
  SubgraphFactors Weigh(const SubgraphEdges& edges) override {
    SubgraphFactors factors;
    if (!place_.rule().cluster_weights) return factors;
    const auto all = static_cast<double>(place_.clusters.size() - 1);
    const auto between = static_cast<float>(all / static_cast<double>(std::ssize(ends_) - 1));
    factors.edges.reserve(edges.sources.size());
    for (size_t i = 0; i + 1 < edges.offsets.size(); ++i) {
      const auto own = ClusterOf(static_cast<int64_t>(i));
      for (int64_t e = edges.offsets[i]; e < edges.offsets[i + 1]; ++e) {
        const bool within = ClusterOf(edges.sources[static_cast<size_t>(e)]) == own;
        factors.edges.push_back(within ? 1.0F : between);
      }
    }
    return factors;
  }

 private:
  // That of the node at a place of the list.
  [[nodiscard]] int64_t ClusterOf(int64_t place) const {
    return std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin();
  }

  const MakerPlace place_;
  std::vector<int64_t> ends_;  // in the list of nodes
};

}  // namespace

std::unique_ptr<MinibatchMaker> MakeCluster(const MakerPlace& place) {
  return MakeSubgraph(place, std::make_unique<SomeClusters>(place));
}

}  // namespace halograph

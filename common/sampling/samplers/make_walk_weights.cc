#include "common/sampling/samplers/make_walk_weights.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "common/graph/owner_split.h"
#include "common/sampling/samplers/layer_answers.h"

namespace halograph {
namespace {

// Exact chances are tried where a walk that looks at so many neighbours of every edge is in bounds.
constexpr int64_t kNeighborsAnEdge = 32;

// The in-edges of a relation, in the order of their global ids.
struct WholeRelation {
  std::vector<int64_t> offsets = {0};
  std::vector<uint32_t> sources;

  [[nodiscard]] InEdgeLists lists() const { return {.offsets = offsets, .sources = sources}; }
};

class WalkWeightMaker {
 public:
  WalkWeightMaker(const Schema& schema, const WalkWeighing& wanted)
      : schema_(schema),
        wanted_(wanted),
        type_(schema.SourceType(wanted.relation)),
        relation_(schema.relations[static_cast<size_t>(wanted.relation)]),
        num_nodes_(schema.node_types[static_cast<size_t>(type_)].count) {}

  [[nodiscard]] int64_t num_nodes() const { return num_nodes_; }
  [[nodiscard]] int64_t num_edges() const { return relation_.count; }

  [[nodiscard]] StatusOr<std::shared_ptr<const WalkWeights>> Make(const AskTopology& ask,
                                                                  const SampleWalks& sample) const {
    if (MayBeExact(schema_, wanted_)) {
      HG_ASSIGN_OR_RETURN(auto exact, MakeExact(ask));
      if (exact != nullptr) return exact;
    }
    return Presample(sample);
  }

 private:
  // Null: it is too much work.
  [[nodiscard]] StatusOr<std::shared_ptr<const WalkWeights>> MakeExact(
      const AskTopology& ask) const {
    HG_ASSIGN_OR_RETURN(const WholeRelation whole, Read(ask));
    const auto walks = ExactWalkChances(whole.lists(), wanted_.rule.walk_length, wanted_.max_work);
    if (absl::IsResourceExhausted(walks.status())) return nullptr;
    HG_RETURN_IF_ERROR(Annotate(walks.status(), fmt::format("relation '{}'", relation_.triple())));
    return std::make_shared<const WalkWeights>(
        type_, WeighWalks(whole.lists(), *walks, wanted_.rule.fanout));
  }

  [[nodiscard]] StatusOr<WholeRelation> Read(const AskTopology& ask) const {
    WholeRelation whole;
    whole.offsets.reserve(static_cast<size_t>(num_nodes()) + 1);
    whole.sources.reserve(static_cast<size_t>(num_edges()));
    TopologyQuestions questions;
    TopologyAnswers answers;
    std::vector<int64_t> destinations;
    for (int64_t begin = 0; begin < num_nodes(); begin += kReadTogether) {
      destinations.resize(static_cast<size_t>(std::min(kReadTogether, num_nodes() - begin)));
      std::iota(destinations.begin(), destinations.end(), begin);
      questions.draws = {{.relation = wanted_.relation,
                          .rule = {.fanout = kFullNeighborhood},
                          .destinations = destinations}};
      HG_RETURN_IF_ERROR(ask(questions, &answers));
      HG_RETURN_IF_ERROR(CheckAnswers(schema_, questions.draws, answers.draws));
      HG_RETURN_IF_ERROR(Append(answers.draws[0], &whole));
    }
    if (std::ssize(whole.sources) == num_edges()) return whole;
    return FailedPrecondition(
        "the chances of walks are those of the whole graph, but the store has {} of the {} edges "
        "of '{}': take a store of all parts",
        whole.sources.size(), num_edges(), relation_.triple());
  }

  [[nodiscard]] Status Append(const NeighborPicks& picks, WholeRelation* whole) const {
    HG_RETURN_IF_ERROR(CheckOffsets(schema_, wanted_.relation, picks));
    const size_t unknown = FindOutside(picks.sources, num_nodes());
    if (unknown < picks.sources.size()) {
      return UnknownNode(schema_, wanted_.relation, picks.sources[unknown]);
    }
    const int64_t before = whole->offsets.back();
    for (size_t i = 1; i < picks.offsets.size(); ++i) {
      whole->offsets.push_back(before + picks.offsets[i]);
    }
    whole->sources.insert(whole->sources.end(), picks.sources.begin(), picks.sources.end());
    return OkStatus();
  }

  [[nodiscard]] StatusOr<std::shared_ptr<const WalkWeights>> Presample(
      const SampleWalks& sample) const {
    PresampledChances counts(num_nodes(), num_edges());
    std::vector<uint64_t> seeds;
    std::vector<Minibatch> subgraphs(kPresampledTogether);
    do {
      const auto size = static_cast<size_t>(
          std::min<int64_t>(kPresampledTogether, wanted_.max_subgraphs - counts.subgraphs()));
      seeds.clear();
      for (size_t i = 0; i < size; ++i) {
        seeds.push_back(SubKey(wanted_.key, static_cast<uint64_t>(counts.subgraphs()) + i));
      }
      HG_RETURN_IF_ERROR(sample(seeds, std::span(subgraphs).first(size)));
      for (const Minibatch& subgraph : std::span(subgraphs).first(size)) {
        HG_RETURN_IF_ERROR(CheckSubgraphIds(subgraph, type_, num_nodes(), num_edges()));
        counts.Add(subgraph.nodes[static_cast<size_t>(type_)],
                   subgraph.layers[0].blocks[0].edge_ids);
      }
    } while (counts.coverage() < wanted_.coverage && counts.subgraphs() < wanted_.max_subgraphs);
    return std::make_shared<const WalkWeights>(type_, std::move(counts));
  }

  const Schema& schema_;
  const WalkWeighing& wanted_;
  const int type_;
  const Relation& relation_;
  const int64_t num_nodes_;
};

}  // namespace

bool MayBeExact(const Schema& schema, const WalkWeighing& wanted) {
  const int64_t edges = schema.relations[static_cast<size_t>(wanted.relation)].count;
  const auto type = static_cast<size_t>(schema.SourceType(wanted.relation));
  const int64_t most = wanted.max_work / kNeighborsAnEdge / std::max(wanted.rule.walk_length, 1);
  return schema.node_types[type].count <= most && edges <= most;
}

StatusOr<std::shared_ptr<const WalkWeights>> MakeWalkWeights(const Schema& schema,
                                                             const WalkWeighing& wanted,
                                                             const AskTopology& ask,
                                                             const SampleWalks& sample) {
  assert(wanted.rule.kind == DrawKind::kSaintWalk && wanted.max_subgraphs > 0);
  const WalkWeightMaker maker(schema, wanted);
  try {
    return maker.Make(ask, sample);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(
        "no memory to find the chances of walks over {} nodes and {} edges; take another sampler, "
        "or a machine with more",
        maker.num_nodes(), maker.num_edges());
  }
}

}  // namespace halograph

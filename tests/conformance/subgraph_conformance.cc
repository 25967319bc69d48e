// Minibatches of subgraphs, and what those of walks are weighed by: the same from every store.
#include <algorithm>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/samplers/make_walk_weights.h"
#include "tests/conformance/conformance_fixture.h"
#include "tests/support/local_stores.h"
#include "tests/support/one_call.h"

namespace halograph {
namespace {

// Symmetric, with clusters, some isolated nodes, parallel edges and self-loops.
const ConformanceFolder& SymmetricGraph() {
  static const ConformanceFolder graph([] {
    constexpr int kNodes = 800;
    TestGraphSpec spec{.parts = 4, .node_types = {{}}, .relations = {{}}};
    spec.cluster_nodes.resize(4);
    for (int v = 0; v < kNodes; ++v) spec.node_types[0].owners.push_back(v % spec.parts);
    for (int part = 0; part < spec.parts; ++part) {
      const std::vector<int>& owners = spec.node_types[0].owners;
      for (int64_t left = std::count(owners.begin(), owners.end(), part); left > 0; left -= 50) {
        spec.cluster_nodes[static_cast<size_t>(part)].push_back(std::min<int64_t>(left, 50));
      }
    }
    CounterRng rng(Mix(3));
    for (int i = 0; i < 3 * kNodes; ++i) {
      const auto u = static_cast<int64_t>(rng.NextBounded(kNodes));
      const auto v = static_cast<int64_t>(rng.NextBounded(1 + static_cast<uint64_t>(u)));
      spec.relations[0].edges.push_back({u, v});
      if (u != v) spec.relations[0].edges.push_back({v, u});
    }
    return spec;
  }());
  return graph;
}

// Stores under test, and the reference.
struct Both {
  explicit Both(const StoreKind& kind) : tested(SymmetricGraph(), kind) {
    auto opened = OpenLocalStores(tested.path, VerifyLevel::kHeaders, 0);
    EXPECT_TRUE(opened.ok()) << ToString(opened.status());
    if (opened.ok()) reference = std::move(*opened);
  }
  [[nodiscard]] bool ok() const { return tested.ok() && reference.graph != nullptr; }

  ConformanceGraphUnderTest tested;
  Stores reference;
};

constexpr DrawRule kWalks = {.kind = DrawKind::kSaintWalk, .fanout = 30, .walk_length = 3};

void SameSubgraphs(const StoreKind& kind) {
  Both both(kind);
  ASSERT_TRUE(both.ok());
  for (const DrawRule& rule :
       {DrawRule{.kind = DrawKind::kCluster, .fanout = 3, .cluster_weights = true},
        {.kind = DrawKind::kSaintNode, .fanout = 60},
        {.kind = DrawKind::kSaintEdge, .fanout = 40},
        kWalks}) {
    const SamplingSpec spec{.layers = {{{0, rule}}, {{0, rule}}}};
    for (const uint64_t batch_seed : {uint64_t{0}, uint64_t{7}, UINT64_MAX}) {
      const SampleRequest request{
          .seeds = {}, .batch_seed = batch_seed, .spec = &spec, .edge_ids = true};
      const auto expected = SampleOne(*both.reference.graph, request);
      const auto found = SampleOne(*both.tested.stores.graph, request);
      ASSERT_TRUE(expected.ok()) << ToString(expected.status());
      ASSERT_TRUE(found.ok()) << ToString(found.status());
      EXPECT_FALSE(expected->layers[0].blocks[0].indices.empty());
      EXPECT_TRUE(*found == *expected) << static_cast<int>(rule.kind);
    }
  }
}

StatusOr<std::shared_ptr<const WalkWeights>> WeightsFrom(GraphStore& store,
                                                         const WalkWeighing& wanted) {
  const SamplingSpec spec{.layers = {{{wanted.relation, wanted.rule}}}};
  return MakeWalkWeights(
      store.info().schema, wanted,
      [&](const TopologyQuestions& questions, TopologyAnswers* answers) {
        CallContext context;
        return store.Ask(questions, context, answers);
      },
      [&](std::span<const uint64_t> batch_seeds, std::span<Minibatch> minibatches) {
        std::vector<SampleRequest> requests;
        for (const uint64_t seed : batch_seeds) {
          requests.push_back({.seeds = {}, .batch_seed = seed, .spec = &spec, .edge_ids = true});
        }
        CallContext context;
        return store.Sample(requests, context, minibatches);
      });
}

void SameWeightsOfWalks(const StoreKind& kind) {
  Both both(kind);
  ASSERT_TRUE(both.ok());
  for (const int64_t max_work : {kMaxWalkWork, int64_t{0}}) {  // exact, counted
    const WalkWeighing wanted{.rule = kWalks, .coverage = 3, .key = 8, .max_work = max_work};
    const auto expected = WeightsFrom(*both.reference.graph, wanted);
    const auto found = WeightsFrom(*both.tested.stores.graph, wanted);
    ASSERT_TRUE(expected.ok()) << ToString(expected.status());
    ASSERT_TRUE(found.ok()) << ToString(found.status());
    EXPECT_EQ((*found)->exact(), max_work > 0);
    EXPECT_EQ((*found)->subgraphs(), (*expected)->subgraphs());
    for (uint64_t batch_seed = 0; batch_seed < 20; ++batch_seed) {
      const SamplingSpec spec{.layers = {{{0, kWalks}}}};
      auto here =
          SampleOne(*both.reference.graph,
                    {.seeds = {}, .batch_seed = batch_seed, .spec = &spec, .edge_ids = true});
      ASSERT_TRUE(here.ok()) << ToString(here.status());
      Minibatch there = *here;
      ASSERT_EQ((*expected)->Weigh(&*here), OkStatus());
      ASSERT_EQ((*found)->Weigh(&there), OkStatus());
      EXPECT_FALSE(there.node_weights.empty());
      EXPECT_TRUE(there == *here);
    }
  }
}

}  // namespace

void RegisterSubgraphConformance(const StoreKind& kind) {
  RegisterCase("SubgraphConformance", kind, "SameSubgraphs", SameSubgraphs);
  RegisterCase("SubgraphConformance", kind, "SameWeightsOfWalks", SameWeightsOfWalks);
}

}  // namespace halograph

#include "common/sampling/inclusion.h"

#include <cmath>

#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "tests/support/random_graph.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

TEST(DrawChanceTest, OfOneEdgeAmongThoseOfItsNode) {
  EXPECT_DOUBLE_EQ(DrawChance(4, {.fanout = 1}), 0.25);
  EXPECT_DOUBLE_EQ(DrawChance(4, {.fanout = 4}), 1);
  EXPECT_DOUBLE_EQ(DrawChance(4, {.fanout = 9}), 1);
  EXPECT_DOUBLE_EQ(DrawChance(4, {.fanout = kFullNeighborhood, .replace = true}), 1);
  EXPECT_NEAR(DrawChance(4, {.fanout = 2, .replace = true}), 1 - 0.75 * 0.75, 1e-12);
  EXPECT_DOUBLE_EQ(DrawChance(1, {.fanout = 3, .replace = true}), 1);
}

TestGraphSpec Graph(std::vector<std::pair<int64_t, int64_t>> edges, size_t nodes) {
  TestGraphSpec spec;
  spec.node_types = {{.name = "node", .owners = std::vector<int>(nodes, 0)}};
  spec.relations = {{.edges = std::move(edges)}};
  return spec;
}

// 1 -> 0, 2 -> 0, 3 -> 1: node 0 is a seed of every second minibatch.
TEST(InclusionChancesTest, FollowsTheLayersOutward) {
  const MemoryGraph graph(Graph({{1, 0}, {2, 0}, {3, 1}}, 5), IdWidth::k32);
  const std::vector<int32_t> one = {1};
  const std::vector<int32_t> two = {1, 1};
  const NodeChances seeds = {{0.5F, 0, 0, 0, 0}};
  EXPECT_THAT(InclusionChances(graph.schema, graph.topology,
                               SamplingSpec::Uniform(graph.schema, one), seeds)[0],
              ElementsAre(0.5F, FloatEq(0.25F), FloatEq(0.25F), 0, 0));
  // The seed draws in the second layer anew.
  const float twice = 1 - 0.75F * 0.75F;
  EXPECT_THAT(InclusionChances(graph.schema, graph.topology,
                               SamplingSpec::Uniform(graph.schema, two), seeds)[0],
              ElementsAre(0.5F, FloatEq(twice), FloatEq(twice), FloatEq(0.25F), 0));
}

TEST(InclusionChancesTest, WhatIsCertainStaysCertain) {
  const MemoryGraph graph(Graph({{1, 0}, {2, 0}, {0, 1}}, 3), IdWidth::k64);
  const std::vector<int32_t> all = {-1, -1};
  EXPECT_THAT(InclusionChances(graph.schema, graph.topology,
                               SamplingSpec::Uniform(graph.schema, all), {{1, 0, 0}})[0],
              ElementsAre(1, 1, 1));
}

// Against the sampler: of every node type, the number of input nodes of 400 minibatches. Seeds are
// fixed, so this cannot fail by chance.
TEST(InclusionChancesTest, ItsSumIsTheNumberOfInputNodes) {
  const MemoryGraph graph(RandomTypedGraph({.parts = 3, .nodes = 2000, .mean_degree = 8}),
                          IdWidth::k32);
  const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{4, 3});
  const FusedSampler sampler(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
  const int64_t nodes = graph.schema.node_types[0].count;
  constexpr int kMinibatches = 400;
  constexpr int64_t kSeeds = 10;
  std::vector<double> found(graph.schema.node_types.size());
  CounterRng rng(7);
  Minibatch minibatch;
  for (int i = 0; i < kMinibatches; ++i) {
    std::vector<int64_t> seeds;
    for (int64_t n = 0; n < kSeeds; ++n) {
      seeds.push_back(static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(nodes))));
    }
    const SampleRequest request{.seeds = {{.type = 0, .ids = seeds}},
                                .batch_seed = static_cast<uint64_t>(i),
                                .spec = &spec};
    ASSERT_TRUE(sampler.Sample(request, &workspace, &minibatch).ok());
    for (size_t type = 0; type < found.size(); ++type) {
      found[type] += static_cast<double>(minibatch.nodes[type].size()) / kMinibatches;
    }
  }
  NodeChances seeds;
  for (const NodeType& type : graph.schema.node_types) {
    seeds.emplace_back(static_cast<size_t>(type.count), 0.0F);
  }
  std::fill(seeds[0].begin(), seeds[0].end(),
            static_cast<float>(kSeeds) / static_cast<float>(nodes));
  const NodeChances chances = InclusionChances(graph.schema, graph.topology, spec, seeds);
  for (size_t type = 0; type < found.size(); ++type) {
    double sum = 0;
    for (const float chance : chances[type]) sum += chance;
    EXPECT_NEAR(sum / found[type], 1, 0.15) << graph.schema.node_types[type].name;
  }
}

}  // namespace
}  // namespace halograph

// Whole minibatches of subgraphs: what they hold, and that their means are unbiased.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "common/base/sanitizers.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {
namespace {

constexpr int64_t kNodes = 60;

// Symmetric, with some parallel edges and self-loops, in two parts of three clusters each.
class SubgraphMinibatchTest : public testing::Test {
 protected:
  SubgraphMinibatchTest() : graph_(Spec(), IdWidth::k32) {}

  static TestGraphSpec Spec() {
    TestGraphSpec spec{.parts = 2, .node_types = {{}}, .relations = {{}}};
    for (int64_t v = 0; v < kNodes; ++v) {
      spec.node_types[0].owners.push_back(v < kNodes / 2 ? 0 : 1);
    }
    CounterRng rng(Mix(9));
    for (int64_t v = 0; v < kNodes; ++v) {
      for (int i = 0; i < 3; ++i) {
        const auto u = static_cast<int64_t>(rng.NextBounded(kNodes));
        spec.relations[0].edges.push_back({u, v});
        if (u != v) spec.relations[0].edges.push_back({v, u});
      }
    }
    return spec;
  }

  [[nodiscard]] Minibatch Made(const DrawRule& rule, uint64_t batch_seed, size_t layers = 1) {
    SamplingSpec spec;
    spec.layers.assign(layers, {{0, rule}});
    LocalSource source(&graph_.schema, &graph_.topology, nullptr);
    Minibatch minibatch;
    const SampleRequest request{
        .seeds = {}, .batch_seed = batch_seed, .spec = &spec, .edge_ids = true};
    EXPECT_EQ(BuildMinibatches(graph_.schema, {&request, 1}, source, &workspaces_, {&minibatch, 1}),
              OkStatus());
    return minibatch;
  }

  // All edges between the nodes, by destination, in file order.
  void ExpectInduced(const Minibatch& minibatch) {
    const std::vector<int64_t>& nodes = minibatch.nodes[0];
    const std::set<int64_t> in(nodes.begin(), nodes.end());
    ASSERT_EQ(in.size(), nodes.size());
    for (const SampledLayer& layer : minibatch.layers) {
      EXPECT_EQ(layer.num_destinations, (std::vector<int64_t>{std::ssize(nodes)}));
      EXPECT_EQ(layer.num_sources, layer.num_destinations);
      const Block& block = layer.blocks.at(0);
      ASSERT_EQ(block.indptr.size(), nodes.size() + 1);
      for (size_t i = 0; i < nodes.size(); ++i) {
        std::vector<int64_t> expected, found;
        for (const int64_t u : graph_.relations[0]->in_edges()[nodes[i]]) {
          if (in.contains(u)) expected.push_back(u);
        }
        for (int64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
          found.push_back(nodes[block.indices[e]]);
        }
        EXPECT_EQ(found, expected) << nodes[i];
      }
    }
  }

  // How many sigmas a projection of all means is off, each counted one over the chance of its node,
  // over many subgraphs. `chance`: of every node, where minibatches do not tell it.
  double SigmasOff(const DrawRule& rule, double chance) {
    const int draws = kAddressSanitizer || kThreadSanitizer ? 1'000 : 20'000;
    CounterRng rng(Mix(4));
    std::vector<double> values(kNodes), vector(kNodes), full(kNodes);
    for (double& value : values) value = rng.NextDouble();
    for (double& entry : vector) entry = rng.NextDouble() - .2;
    for (int64_t v = 0; v < kNodes; ++v) {
      const std::vector<int64_t>& sources = graph_.relations[0]->in_edges()[v];
      for (const int64_t u : sources) full[v] += values[u] / static_cast<double>(sources.size());
    }
    double sum = 0, squares = 0;
    for (int draw = 0; draw < draws; ++draw) {
      const Minibatch minibatch = Made(rule, static_cast<uint64_t>(draw));
      const Block& block = minibatch.layers[0].blocks[0];
      const std::vector<int64_t>& nodes = minibatch.nodes[0];
      double off = 0;
      for (size_t i = 0; i < nodes.size(); ++i) {
        double mean = 0;
        for (int64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
          mean += block.coefficients[e] * values[nodes[block.indices[e]]];
        }
        mean /= block.degrees[i];
        const double weight =
            minibatch.node_weights.empty() ? 1 / chance : minibatch.node_weights[i];
        off += vector[nodes[i]] * weight * (mean - full[nodes[i]]);
      }
      sum += off;
      squares += off * off;
    }
    const double bias = sum / draws;
    const double z = bias / std::sqrt((squares / draws - bias * bias) / draws);
    std::printf("  bias %.2e, %.2f sigma\n", bias, z);
    return z;
  }

  MemoryGraph graph_;
  const std::vector<std::vector<int64_t>> clusters_ = {{0, 8, 19, 30}, {30, 41, 52, 60}};
  BuilderWorkspaces workspaces_{&graph_.schema, 2, clusters_};
};

TEST_F(SubgraphMinibatchTest, LayersShareAllEdgesBetweenTheNodes) {
  for (const DrawKind kind : {DrawKind::kCluster, DrawKind::kSaintNode, DrawKind::kSaintEdge}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const Minibatch minibatch = Made({.kind = kind, .fanout = 3}, seed, 2);
      ExpectInduced(minibatch);
      EXPECT_EQ(minibatch.sampled_edges, 2 * std::ssize(minibatch.layers[0].blocks[0].indices));
      EXPECT_TRUE(minibatch.layers[0] == minibatch.layers[1]);
    }
  }
}

TEST_F(SubgraphMinibatchTest, ClustersComeWholeAndEachAsOftenAsOthers) {
  std::map<int64_t, int> firsts;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const Minibatch minibatch = Made({.kind = DrawKind::kCluster, .fanout = 2}, seed);
    const std::set<int64_t> in(minibatch.nodes[0].begin(), minibatch.nodes[0].end());
    int whole = 0;
    for (const std::vector<int64_t>& part : clusters_) {
      for (size_t i = 0; i + 1 < part.size(); ++i) {
        const auto count = std::distance(in.lower_bound(part[i]), in.lower_bound(part[i + 1]));
        ASSERT_TRUE(count == 0 || count == part[i + 1] - part[i]);
        whole += count > 0 ? 1 : 0;
        firsts[part[i]] += count > 0 ? 1 : 0;
      }
    }
    EXPECT_EQ(whole, 2);
  }
  // 200 expected of each of six, deviation 11.5.
  for (const auto& [first, count] : firsts) EXPECT_NEAR(count, 200, 3 * 11.5) << first;
}

TEST_F(SubgraphMinibatchTest, MeansOfSaintAreUnbiased) {
  EXPECT_LT(std::abs(SigmasOff({.kind = DrawKind::kSaintNode, .fanout = 30}, 0)), 3);
  EXPECT_LT(std::abs(SigmasOff({.kind = DrawKind::kSaintEdge, .fanout = 15}, 0)), 3);
}

TEST_F(SubgraphMinibatchTest, MeansOfWeighedClustersAreUnbiased) {
  const DrawRule rule = {.kind = DrawKind::kCluster, .fanout = 2, .cluster_weights = true};
  EXPECT_LT(std::abs(SigmasOff(rule, 2. / 6)), 3);
}

TEST_F(SubgraphMinibatchTest, WhatNoSubgraphCanBeIsRefusedByName) {
  const auto refused = [&](std::vector<std::vector<RelationRule>> layers, bool seeds,
                           const std::string& text) {
    const SamplingSpec spec{.layers = std::move(layers)};
    const std::vector<int64_t> ids = {1};
    SampleRequest request{.seeds = {}, .spec = &spec};
    if (seeds) request.seeds = {{.type = 0, .ids = ids}};
    EXPECT_THAT(ValidateRequest(graph_.schema, request).ToString(), testing::HasSubstr(text));
  };
  const DrawRule three = {.kind = DrawKind::kSaintNode, .fanout = 3};
  DrawRule other = three;
  other.fanout = 4;
  refused({{{0, three}}, {{0, other}}}, false, "the same rule in every layer");
  refused({{{0, three}}}, true, "has no seeds");
  other.fanout = -1;
  refused({{{0, other}}}, false, "-1 draws of a subgraph are outside [1, 1048576]");
  BuilderWorkspaces without(&graph_.schema, 2);
  LocalSource source(&graph_.schema, &graph_.topology, nullptr);
  Minibatch minibatch;
  const SamplingSpec spec{.layers = {{{0, {.kind = DrawKind::kCluster, .fanout = 2}}}}};
  const SampleRequest request{.seeds = {}, .spec = &spec};
  const Status status =
      BuildMinibatches(graph_.schema, {&request, 1}, source, &without, {&minibatch, 1});
  EXPECT_THAT(Message(status), testing::HasSubstr("--batch-clusters N"));
}

}  // namespace
}  // namespace halograph

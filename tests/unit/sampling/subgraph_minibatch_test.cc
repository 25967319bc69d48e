// Whole minibatches of subgraphs: what they hold, and that their means are unbiased.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/sampling/subgraph_fixture.h"

namespace halograph {
namespace {

class SubgraphMinibatchTest : public SubgraphFixture {
 protected:
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
};

TEST_F(SubgraphMinibatchTest, LayersShareAllEdgesBetweenTheNodes) {
  for (const DrawRule& rule : {DrawRule{.kind = DrawKind::kCluster, .fanout = 3},
                               {.kind = DrawKind::kSaintNode, .fanout = 3},
                               {.kind = DrawKind::kSaintEdge, .fanout = 3},
                               {.kind = DrawKind::kSaintWalk, .fanout = 3, .walk_length = 4}}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const Minibatch minibatch = Made(rule, seed, 2);
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
  ExpectUnbiased(SigmasOff({.kind = DrawKind::kSaintNode, .fanout = 30}, 0));
  ExpectUnbiased(SigmasOff({.kind = DrawKind::kSaintEdge, .fanout = 15}, 0));
}

TEST_F(SubgraphMinibatchTest, MeansOfWeighedClustersAreUnbiased) {
  const DrawRule rule = {.kind = DrawKind::kCluster, .fanout = 2, .cluster_weights = true};
  ExpectUnbiased(SigmasOff(rule, 2. / 6));
}

// By design: they are means over the edges within the minibatch. How far they are off is printed.
TEST_F(SubgraphMinibatchTest, MeansOfClustersWithoutWeightsAreBiased) {
  const SubgraphBias bias = SigmasOff({.kind = DrawKind::kCluster, .fanout = 2}, 2. / 6);
  EXPECT_GT(std::abs(bias.means), 3);
  EXPECT_LT(std::abs(bias.loss), 3);
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
  DrawRule walks = {.kind = DrawKind::kSaintWalk, .fanout = 3};
  refused({{{0, walks}}}, false, "walks of 0 steps are outside [1, 64]");
  walks.walk_length = 65;
  refused({{{0, walks}}}, false, "walks of 65 steps are outside [1, 64]");
  other = three;
  other.walk_length = 2;
  refused({{{0, other}}}, false, "draws of kind 5 take no walks, and have 0 steps, not 2");
  refused({{{0, {.fanout = 3, .walk_length = 2}}}}, false, "draws of kind 0 take no walks");
  BuilderWorkspaces without(&graph_.schema, 2);
  LocalSource source(&graph_.schema, &graph_.topology, nullptr);
  Minibatch minibatch;
  const SamplingSpec spec{.layers = {{{0, {.kind = DrawKind::kCluster, .fanout = 2}}}}};
  const SampleRequest request{.seeds = {}, .spec = &spec};
  const Status status =
      BuildMinibatches(graph_.schema, {&request, 1}, source, &without, {&minibatch, 1});
  EXPECT_THAT(Message(status), testing::HasSubstr("--batch-clusters N"));
}

// A source that damages the first picks it gives.
class LyingSource final : public TopologySource {
 public:
  LyingSource(TopologySource* real, std::function<void(NeighborPicks*)> damage)
      : real_(*real), damage_(std::move(damage)) {}

  Status Draw(std::span<const LayerGroup> groups, std::vector<NeighborPicks>* picks) override {
    HG_RETURN_IF_ERROR(real_.Draw(groups, picks));
    for (const LayerGroup& group : groups) {
      for (const int64_t node : group.destinations) EXPECT_LT(node, 60) << "of what was answered";
    }
    damage_(&picks->front());
    return OkStatus();
  }
  Status SumColumns(std::span<const ColumnGroup> groups, std::vector<ColumnSums>* sums) override {
    return real_.SumColumns(groups, sums);
  }
  Status Extract(std::span<const EdgeGroup> groups, std::vector<ExtractedEdges>* edges) override {
    return real_.Extract(groups, edges);
  }

 private:
  TopologySource& real_;
  const std::function<void(NeighborPicks*)> damage_;
};

TEST_F(SubgraphMinibatchTest, PicksThatCannotBeAreInternal) {
  LocalSource local(&graph_.schema, &graph_.topology, nullptr);
  const auto refused = [&](std::function<void(NeighborPicks*)> damage, const char* text) {
    for (const DrawRule& rule : {DrawRule{.kind = DrawKind::kSaintEdge, .fanout = 20},
                                 {.kind = DrawKind::kSaintWalk, .fanout = 20, .walk_length = 3}}) {
      const SamplingSpec spec{.layers = {{{0, rule}}}};
      const SampleRequest request{.seeds = {}, .spec = &spec};
      LyingSource source(&local, damage);
      Minibatch minibatch;
      const Status status =
          BuildMinibatches(graph_.schema, {&request, 1}, source, &workspaces_, {&minibatch, 1});
      EXPECT_TRUE(absl::IsInternal(status)) << status;
      EXPECT_THAT(Message(status), testing::HasSubstr(text));
    }
  };
  refused([](NeighborPicks* picks) { picks->sources[0] = 1'000'000; }, "answered node 1000000");
  refused([](NeighborPicks* picks) { picks->offsets[1] = 2; }, "answered 2 picks of node");
  refused([](NeighborPicks* picks) { picks->offsets[1] = -1; }, "do not ascend");
  refused([](NeighborPicks* picks) { picks->offsets[1] = 1 << 20; }, "do not ascend");
}

}  // namespace
}  // namespace halograph

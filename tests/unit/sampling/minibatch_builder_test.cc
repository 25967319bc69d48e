#include "common/sampling/samplers/minibatch_builder.h"

#include <algorithm>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/base/thread_pool.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/sampling/samplers/last_layer.h"
#include "common/sampling/samplers/local_source.h"
#include "tests/support/random_graph.h"
#include "tests/unit/sampling/memory_graph.h"
#include "tests/unit/sampling/random_request.h"
#include "tests/unit/sampling/slow_sampling.h"

namespace halograph {
namespace {

// Every block holds true in-edges only, between nodes of the lists.
void ExpectTrueEdges(const MemoryGraph& graph, const Minibatch& minibatch) {
  for (const SampledLayer& layer : minibatch.layers) {
    for (const Block& block : layer.blocks) {
      const int source_type = graph.schema.SourceType(block.relation);
      const int type = graph.schema.DestinationType(block.relation);
      ASSERT_EQ(static_cast<int64_t>(block.indptr.size()), layer.num_destinations[type] + 1);
      for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
        const auto& list = graph.relations[block.relation]->in_edges()[minibatch.nodes[type][i]];
        const std::set<int64_t> sources(list.begin(), list.end());
        for (int64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
          ASSERT_LT(block.indices[e], layer.num_sources[source_type]);
          EXPECT_TRUE(sources.contains(minibatch.nodes[source_type][block.indices[e]]));
        }
      }
    }
  }
  for (const std::vector<int64_t>& nodes : minibatch.nodes) {
    EXPECT_EQ(std::set<int64_t>(nodes.begin(), nodes.end()).size(), nodes.size());
  }
}

// The same, with the last layer's sources compacted behind all else.
StatusOr<Minibatch> BuildLastApart(const Schema& schema, const SampleRequest& request,
                                   TopologySource& source) {
  BuilderWorkspaces workspaces(&schema, 1);
  const SamplingSpec others = WithoutLast(*request.spec);
  SampleRequest before_last = request;
  before_last.spec = &others;
  Minibatch minibatch;
  HG_RETURN_IF_ERROR(
      BuildMinibatches(schema, {&before_last, 1}, source, &workspaces, {&minibatch, 1}));
  const std::vector<LayerGroup> groups = AskLast(schema, request, minibatch);
  std::vector<NeighborPicks> picks(groups.size());
  HG_RETURN_IF_ERROR(source.Draw(groups, &picks));
  HG_ASSIGN_OR_RETURN(const RawLayer raw, TakeLast(schema, request, groups, std::move(picks),
                                                   &workspaces, {}, &minibatch));
  HG_RETURN_IF_ERROR(CompactLast(schema, CompactByMap(&workspaces), raw, &minibatch));
  return minibatch;
}

void ExpectLikeTheOracle(const TestGraphSpec& spec, uint64_t seed) {
  CounterRng rng(Mix(seed));
  const MemoryGraph graph(spec, rng.NextBounded(2) == 0 ? IdWidth::k32 : IdWidth::k64);
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  for (int i = 0; i < 4; ++i) {
    constexpr int32_t kFewFanouts[] = {-1, 0, 1, 2, 3, 5, 10, 100};
    const SamplingSpec sampling = RandomSpec(graph.schema, kFewFanouts, 4, &rng);
    const RandomSeedLists seeds(graph.schema, UINT32_MAX, &rng);
    const RandomExclusions exclude(graph, &rng);
    const SampleRequest request{.seeds = seeds.lists(),
                                .batch_seed = rng.Next(),
                                .spec = &sampling,
                                .exclude = exclude.edges(),
                                .edge_ids = rng.NextBounded(2) == 0};
    const auto minibatch = BuildAlone(graph.schema, request, source);
    ASSERT_TRUE(minibatch.ok()) << minibatch.status();
    EXPECT_TRUE(*minibatch == SlowMinibatch(graph, request)) << "graph " << seed << " batch " << i;
    ExpectTrueEdges(graph, *minibatch);
    const auto apart = BuildLastApart(graph.schema, request, source);
    ASSERT_TRUE(apart.ok()) << apart.status();
    EXPECT_TRUE(*apart == *minibatch) << "graph " << seed << " batch " << i;
  }
}

TEST(BuildMinibatchesTest, AgreesWithTheSlowOracleOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ExpectLikeTheOracle(RandomGraph({.seed = seed,
                                     .parts = 1 + static_cast<int>(seed % 4),
                                     .nodes = 1 + static_cast<int64_t>(7 * seed % 90),
                                     .mean_degree = 0.5 + static_cast<double>(seed % 12)}),
                        seed);
  }
}

TEST(BuildMinibatchesTest, AgreesWithTheSlowOracleOnRandomTypedGraphs) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ExpectLikeTheOracle(RandomTypedGraph({.seed = seed,
                                          .parts = 1 + static_cast<int>(seed % 5),
                                          .nodes = 3 + static_cast<int64_t>(11 * seed % 120),
                                          .mean_degree = 1 + static_cast<double>(seed % 7)}),
                        seed + 1000);
  }
}

// Fused, on one thread and on several, and asked for layer by layer.
TEST(BuildMinibatchesTest, LaborAgreesWithTheSlowOracleHoweverItIsMade) {
  ThreadPool pool("test", 3, 64);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CounterRng rng(Mix(seed + 170));
    const RandomGraphOptions options = {.seed = seed,
                                        .parts = 1 + static_cast<int>(seed % 4),
                                        .nodes = 3 + static_cast<int64_t>(11 * seed % 120),
                                        .mean_degree = 1 + static_cast<double>(seed % 11)};
    const MemoryGraph graph(seed % 3 == 0 ? RandomGraph(options) : RandomTypedGraph(options),
                            seed % 2 == 0 ? IdWidth::k32 : IdWidth::k64);
    constexpr int32_t kFewFanouts[] = {-1, 0, 1, 2, 3, 5, 10};
    SamplingSpec sampling = RandomSpec(graph.schema, kFewFanouts, 4, &rng);
    DrawByLabor(rng.NextBounded(2) == 0, &sampling);
    const RandomSeedLists seeds(graph.schema, UINT32_MAX, &rng);
    const RandomExclusions exclude(graph, &rng);
    const SampleRequest request{.seeds = seeds.lists(),
                                .batch_seed = rng.Next(),
                                .spec = &sampling,
                                .exclude = exclude.edges(),
                                .edge_ids = rng.NextBounded(2) == 0,
                                .source_degrees = rng.NextBounded(2) == 0};
    const Minibatch expected = SlowMinibatch(graph, request);
    FusedWorkspace workspace(graph.schema);
    for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      LocalSource source(&graph.schema, &graph.topology, threads);
      const auto built = BuildAlone(graph.schema, request, source);
      ASSERT_TRUE(built.ok()) << built.status();
      EXPECT_TRUE(*built == expected) << "graph " << seed;
      Minibatch fused;
      ASSERT_EQ(
          FusedSampler(&graph.schema, &graph.topology, threads).Sample(request, &workspace, &fused),
          OkStatus());
      EXPECT_TRUE(fused == expected) << "graph " << seed;
    }
    if (seeds.lists().size() == 1) ExpectTrueEdges(graph, expected);
  }
}

// Enough destinations for several chunks, and hubs whose edges go through the stream in pieces.
TEST(BuildMinibatchesTest, ThreadsChangeNoLaborMinibatch) {
  const MemoryGraph graph(RandomGraph({.seed = 3, .parts = 3, .nodes = 6000, .mean_degree = 60}),
                          IdWidth::k32);
  SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{300, 5, 7});
  DrawByLabor(false, &spec);
  CounterRng rng(8);
  const std::vector<int64_t> seeds = RandomSeeds(700, 6000, &rng);
  const SampleRequest request{.seeds = {{.ids = seeds}}, .batch_seed = 5, .spec = &spec};
  const Minibatch expected = SlowMinibatch(graph, request);
  ThreadPool pool("test", 3, 64);
  FusedWorkspace workspace(graph.schema);
  for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    LocalSource source(&graph.schema, &graph.topology, threads);
    const auto built = BuildAlone(graph.schema, request, source);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_TRUE(*built == expected);
    Minibatch fused;
    ASSERT_EQ(
        FusedSampler(&graph.schema, &graph.topology, threads).Sample(request, &workspace, &fused),
        OkStatus());
    EXPECT_TRUE(fused == expected);
  }
}

// Degrees of inner layers' sources come with the next layer's draws; of the last, alone.
TEST(BuildMinibatchesTest, LaborAsksForSourceDegreesOnceBehindTheLayers) {
  const MemoryGraph graph(RandomGraph({.parts = 2, .nodes = 300}), IdWidth::k32);
  SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{3, 3});
  DrawByLabor(false, &spec);
  const std::vector<int64_t> seeds = {5, 50};
  SampleRequest request{.seeds = {{.ids = seeds}}, .spec = &spec, .source_degrees = true};
  BuilderWorkspaces workspaces(&graph.schema, 2);
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  for (const bool source_degrees : {true, false}) {
    request.source_degrees = source_degrees;
    Minibatch minibatch;
    MinibatchesInMaking making(graph.schema, {&request, 1}, &workspaces, {&minibatch, 1}, {});
    std::vector<size_t> asked;
    std::vector<bool> draws;
    for (auto asks = making.Next(); asks.ok() && *asks; asks = making.Next()) {
      asked.push_back(making.questions().draws.size());
      draws.push_back(!making.questions().draws.front().rule.nothing());
      ASSERT_EQ(source.Ask(making.questions(), making.answers()), OkStatus());
    }
    EXPECT_EQ(asked, std::vector<size_t>(source_degrees ? 3 : 2, 1));
    EXPECT_EQ(draws, (source_degrees ? std::vector<bool>{true, true, false}
                                     : std::vector<bool>{true, true}));
    EXPECT_TRUE(minibatch == SlowMinibatch(graph, request));
  }
}

TEST(BuildMinibatchesTest, SelfLoopsAndParallelEdgesAreEdgesLikeOthers) {
  const TestGraphSpec spec{.parts = 1,
                           .node_types = {{.owners = {0, 0, 0}}},
                           .relations = {{.edges = {{1, 1}, {1, 1}, {0, 1}, {1, 1}}}}};
  const MemoryGraph graph(spec, IdWidth::k32);
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  const SamplingSpec sampling = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{3});
  const std::vector<int64_t> seeds = {1, 2};
  const auto minibatch = BuildAlone(
      graph.schema, {.seeds = {{.ids = seeds}}, .batch_seed = 3, .spec = &sampling}, source);
  ASSERT_TRUE(minibatch.ok());
  const Block& block = minibatch->layers[0].blocks[0];
  EXPECT_EQ(block.indptr, (std::vector<int64_t>{0, 3, 3}));
  EXPECT_GE(std::count(block.indices.begin(), block.indices.end(), 0), 2);
}

TEST(BuildMinibatchesTest, IsolatedAndEmptySeedsGiveBlocksWithoutEdges) {
  const TestGraphSpec spec{
      .parts = 2, .node_types = {{.owners = {0, 1}}}, .relations = {{.edges = {{0, 1}}}}};
  const MemoryGraph graph(spec, IdWidth::k32);
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  const SamplingSpec sampling = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{2, 2});
  const std::vector<int64_t> isolated = {0};
  const auto one =
      BuildAlone(graph.schema, {.seeds = {{.ids = isolated}}, .spec = &sampling}, source);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->nodes, (std::vector<std::vector<int64_t>>{{0}}));
  EXPECT_EQ(one->layers[1].blocks[0].indptr, (std::vector<int64_t>{0, 0}));
  const auto none = BuildAlone(graph.schema, {.seeds = {}, .spec = &sampling}, source);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->layers[0].blocks[0].indptr, (std::vector<int64_t>{0}));
  EXPECT_EQ(none->sampled_edges, 0);
}

TEST(BuildMinibatchesTest, RepeatedSeedsAreOneDestinationEachWithTheirPositions) {
  const MemoryGraph graph(RandomGraph({.parts = 2}), IdWidth::k32);
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  const SamplingSpec sampling = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{2});
  const std::vector<int64_t> seeds = {9, 4, 9, 9, 0, 4};
  const auto minibatch =
      BuildAlone(graph.schema, {.seeds = {{.ids = seeds}}, .spec = &sampling}, source);
  ASSERT_TRUE(minibatch.ok());
  EXPECT_EQ(minibatch->seed_positions, (std::vector<std::vector<int32_t>>{{0, 1, 0, 0, 2, 1}}));
  EXPECT_EQ(minibatch->layers[0].num_destinations, (std::vector<int64_t>{3}));
  EXPECT_EQ(std::vector<int64_t>(minibatch->nodes[0].begin(), minibatch->nodes[0].begin() + 3),
            (std::vector<int64_t>{9, 4, 0}));
}

TEST(BuildMinibatchesTest, SameMinibatchWithOneAndFourThreadsAndFromManyCallers) {
  const MemoryGraph graph(RandomTypedGraph({.parts = 3, .nodes = 3000, .mean_degree = 8}),
                          IdWidth::k32);
  const SamplingSpec sampling = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{6, 4});
  CounterRng rng(4);
  const std::vector<int64_t> seeds = RandomSeeds(1500, 3000, &rng);
  const SampleRequest request{
      .seeds = {{.type = *graph.schema.NodeTypeIndex("paper"), .ids = seeds}},
      .batch_seed = 11,
      .spec = &sampling};
  LocalSource alone(&graph.schema, &graph.topology, nullptr);
  const auto expected = BuildAlone(graph.schema, request, alone);
  ASSERT_TRUE(expected.ok());
  ThreadPool pool("test", 3, 64);
  std::vector<std::thread> callers;
  std::vector<StatusOr<Minibatch>> results(4, Internal("not run"));
  for (size_t c = 0; c < results.size(); ++c) {
    callers.emplace_back([&, c] {
      LocalSource source(&graph.schema, &graph.topology, &pool);
      results[c] = BuildAlone(graph.schema, request, source);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const auto& result : results) {
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(*result == *expected);
  }
}

// Counts the calls and what they ask for.
class CountingSource final : public TopologySource {
 public:
  explicit CountingSource(const MemoryGraph& graph)
      : source_(&graph.schema, &graph.topology, nullptr) {}
  Status Draw(std::span<const LayerGroup> groups, std::vector<NeighborPicks>* picks) override {
    groups_of_calls.push_back(groups.size());
    return source_.Draw(groups, picks);
  }
  std::vector<size_t> groups_of_calls;

 private:
  LocalSource source_;
};

TEST(BuildMinibatchesTest, SeveralRequestsShareTheCallsOfALayerAndGiveWhatEachGivesAlone) {
  const MemoryGraph graph(RandomTypedGraph({.parts = 3, .nodes = 200}), IdWidth::k32);
  const SamplingSpec deep = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{4, 3, 2});
  const SamplingSpec shallow{.layers = {{Neighbors(1, 5, true), Neighbors(3, -1, true)}}};
  CounterRng rng(6);
  const RandomSeedLists first(graph.schema, 50, &rng);
  const RandomSeedLists second(graph.schema, 50, &rng);
  const std::vector<SampleRequest> requests = {
      {.seeds = first.lists(), .batch_seed = 1, .spec = &deep},
      {.seeds = second.lists(), .batch_seed = 2, .spec = &shallow},
      {.seeds = {}, .batch_seed = 3, .spec = &deep}};
  CountingSource source(graph);
  BuilderWorkspaces workspaces(&graph.schema, 2);
  std::vector<Minibatch> minibatches(3);
  for (int round = 0; round < 2; ++round) {  // the second time in used memory
    source.groups_of_calls.clear();
    for (Minibatch& used : minibatches) {  // what was put into blocks does not stay there
      for (SampledLayer& layer : used.layers) {
        for (Block& block : layer.blocks) block.coefficients = block.degrees = {9};
      }
    }
    ASSERT_EQ(BuildMinibatches(graph.schema, requests, source, &workspaces, minibatches),
              OkStatus());
    EXPECT_EQ(source.groups_of_calls, (std::vector<size_t>{4 + 2 + 4, 4 + 4, 4 + 4}));
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_TRUE(minibatches[i] == SlowMinibatch(graph, requests[i])) << i;
    }
  }
}

TEST(BuildMinibatchesTest, MoreRequestsThanAreMadeTogetherFollowInGroups) {
  const MemoryGraph graph(RandomGraph({.parts = 2}), IdWidth::k32);
  const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{2});
  const std::vector<int64_t> seeds = {5, 50};
  std::vector<SampleRequest> requests;
  for (uint64_t i = 0; i < kMinibatchesTogether + 3; ++i) {
    requests.push_back({.seeds = {{.ids = seeds}}, .batch_seed = i, .spec = &spec});
  }
  CountingSource source(graph);
  BuilderWorkspaces workspaces(&graph.schema, 2);
  std::vector<Minibatch> minibatches(requests.size());
  ASSERT_EQ(BuildMinibatches(graph.schema, requests, source, &workspaces, minibatches), OkStatus());
  EXPECT_EQ(source.groups_of_calls, (std::vector<size_t>{kMinibatchesTogether, 3}));
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_TRUE(minibatches[i] == SlowMinibatch(graph, requests[i])) << i;
  }
  ASSERT_EQ(BuildMinibatches(graph.schema, {}, source, &workspaces, {}), OkStatus());
}

TEST(FusedWorkspacePoolTest, CallersWhoNeedSeveralDoNotWaitForOneAnother) {
  const MemoryGraph graph(RandomGraph({.parts = 1}), IdWidth::k32);
  FusedWorkspacePool pool(&graph.schema, 3);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < 200; ++i) EXPECT_EQ(std::ssize(*pool.Take(1 + c % 3, {})), 1 + c % 3);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(FusedWorkspacePoolTest, AWaitEndsWithItsTokenOrDeadline) {
  const MemoryGraph graph(RandomGraph({.parts = 1}), IdWidth::k32);
  FusedWorkspacePool pool(&graph.schema, 2);
  const auto out = pool.Take();
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  EXPECT_EQ(pool.Take(2, {.deadline = soon}).status().code(), absl::StatusCode::kDeadlineExceeded);
  CancelToken token;
  std::thread canceller([&token] { token.Cancel(); });
  EXPECT_EQ(pool.Take(2, {.cancel = &token}).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
  // What is there is lent whatever the limits say.
  EXPECT_TRUE(pool.Take(1, {.cancel = &token}).ok());
}

// Answers one offset too few: what a broken source could do.
class ShortSource final : public TopologySource {
 public:
  Status Draw(std::span<const LayerGroup> groups, std::vector<NeighborPicks>* picks) override {
    picks->assign(groups.size(), NeighborPicks{.offsets = {0}, .sources = {}});
    return status_;
  }
  Status status_ = OkStatus();
};

TEST(BuildMinibatchesTest, SourceThatFailsOrAnswersShortIsAnError) {
  const MemoryGraph graph(RandomGraph({.parts = 1}), IdWidth::k32);
  const SamplingSpec sampling = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{2});
  const std::vector<int64_t> seeds = {1, 2};
  const SampleRequest request{.seeds = {{.ids = seeds}}, .spec = &sampling};
  ShortSource source;
  EXPECT_EQ(BuildAlone(graph.schema, request, source).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(BuildLastApart(graph.schema, request, source).status().code(),
            absl::StatusCode::kInternal);
  source.status_ = Unavailable("server a:1 does not answer");
  EXPECT_EQ(BuildAlone(graph.schema, request, source).status(), source.status_);
}

// Answers offsets that go back.
class DescendingSource final : public TopologySource {
 public:
  Status Draw(std::span<const LayerGroup>, std::vector<NeighborPicks>* picks) override {
    (*picks)[0] = {.offsets = {0, 900, 2}, .sources = {0, 0}};
    return OkStatus();
  }
};

TEST(BuildMinibatchesTest, OffsetsThatDescendAreAnErrorWhereTheyAreFollowed) {
  const MemoryGraph graph(RandomGraph({.parts = 1}), IdWidth::k32);
  const SamplingSpec sampling = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{2});
  const std::vector<int64_t> seeds = {1, 2};
  DescendingSource source;
  const SampleRequest request{
      .seeds = {{.ids = seeds}},
      .spec = &sampling,
      .exclude = {{.relation = 0, .sources = seeds, .destinations = seeds}}};
  EXPECT_EQ(BuildAlone(graph.schema, request, source).status().code(), absl::StatusCode::kInternal);
}

// Answers one edge a destination, from a node that there is not.
class StrangeSource final : public TopologySource {
 public:
  explicit StrangeSource(int64_t node) : node_(node) {}
  Status Draw(std::span<const LayerGroup> groups, std::vector<NeighborPicks>* picks) override {
    for (size_t g = 0; g < groups.size(); ++g) {
      (*picks)[g].offsets.clear();
      for (size_t i = 0; i <= groups[g].destinations.size(); ++i) {
        (*picks)[g].offsets.push_back(static_cast<int64_t>(i));
      }
      (*picks)[g].sources.assign(groups[g].destinations.size(), node_);
    }
    return OkStatus();
  }

 private:
  const int64_t node_;
};

TEST(BuildMinibatchesTest, SourceThatAnswersUnknownNodesIsAnErrorThatNamesThem) {
  const MemoryGraph graph(RandomGraph({.parts = 1}), IdWidth::k32);
  const SamplingSpec sampling = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{2});
  const std::vector<int64_t> seeds = {1, 2};
  for (const int64_t node : {int64_t{-1}, int64_t{100}, INT64_MAX}) {
    StrangeSource source(node);
    for (const auto& build : {BuildAlone, BuildLastApart}) {
      const Status status =
          build(graph.schema, {.seeds = {{.ids = seeds}}, .spec = &sampling}, source).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
      EXPECT_NE(Message(status).find(std::to_string(node)), std::string::npos) << status;
    }
  }
}

TEST(BuildMinibatchesTest, SourceThatAnswersNoEdgeIdsIsAnError) {
  const MemoryGraph graph(RandomGraph({.parts = 1}), IdWidth::k32);
  const SamplingSpec sampling = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{2});
  const std::vector<int64_t> seeds = {1, 2};
  StrangeSource source(3);
  SampleRequest request{.seeds = {{.ids = seeds}}, .spec = &sampling};
  EXPECT_TRUE(BuildAlone(graph.schema, request, source).ok());
  request.edge_ids = true;
  EXPECT_EQ(BuildAlone(graph.schema, request, source).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace halograph

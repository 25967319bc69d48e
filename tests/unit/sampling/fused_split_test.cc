// One minibatch on several threads, and files that hold what they cannot mean.
#include "common/sampling/fused_split.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/fused_chunks.h"
#include "common/sampling/fused_sampler.h"
#include "common/sampling/kernel.h"
#include "tests/support/random_graph.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {
namespace {

std::vector<int64_t> FirstNodes(int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) ids[i] = i;
  return ids;
}

TEST(SampleSplitLayerTest, ManyChunksOfSeveralRelationsAreThoseOfOneThread) {
  const MemoryGraph graph(RandomTypedGraph({.parts = 3, .nodes = 5000, .mean_degree = 9}),
                          IdWidth::k32);
  const int type = *graph.schema.NodeTypeIndex("paper");
  const std::vector<int64_t> seeds = FirstNodes(3000);
  const FusedSampler alone(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
  FusedWorkspace of_split(graph.schema);
  for (const size_t threads : {1U, 3U}) {
    ThreadPool pool("split", threads, 8);
    const FusedSampler split(&graph.schema, &graph.topology, &pool);
    for (const auto& fanouts : {std::vector<int32_t>{15, 10, 5}, {-1, 20}, {100, 0, 60}}) {
      for (const bool replace : {false, true}) {
        const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, fanouts, replace);
        const SampleRequest request{
            .seed_type = type, .seeds = seeds, .batch_seed = 5, .spec = &spec};
        Minibatch expected;
        Minibatch minibatch;
        ASSERT_TRUE(alone.Sample(request, &workspace, &expected).ok());
        ASSERT_TRUE(split.Sample(request, &of_split, &minibatch).ok());
        EXPECT_TRUE(minibatch == expected) << threads << " threads, fanout " << fanouts[0];
      }
    }
  }
}

class OrderedChunksTest : public testing::Test {
 protected:
  static constexpr int64_t kChunks = 400;

  // Takes of each chunk its number; `fail_at`: the chunk whose sampling fails.
  ChunksOutcome Run(ThreadPool* pool, int64_t fail_at = kChunks, bool throws = false) {
    taken_.clear();
    return OrderedChunks(
        pool, kChunks, &room_, &slots_,
        [&](int64_t chunk, FusedRoom*, NeighborPicks* picks) {
          if (chunk >= fail_at && throws) throw std::bad_alloc();
          picks->sources.assign(1, chunk);
          return FusedOutcome{.kind = chunk >= fail_at ? FusedOutcome::Kind::kDamagedOffsets
                                                       : FusedOutcome::Kind::kDone,
                              .id = chunk};
        },
        [&](int64_t chunk, const NeighborPicks& picks) {
          EXPECT_EQ(picks.sources, std::vector<int64_t>{chunk});
          taken_.push_back(chunk);
          return FusedOutcome();
        });
  }

  FusedRoom room_;
  std::vector<NeighborPicks> slots_;
  std::vector<int64_t> taken_;
  ThreadPool pool_{"chunks", 3, 4};
};

TEST_F(OrderedChunksTest, EachIsTakenOnceAndInOrder) {
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &pool_}) {
    EXPECT_TRUE(Run(pool).outcome.done());
    EXPECT_EQ(taken_, FirstNodes(kChunks));
  }
}

TEST_F(OrderedChunksTest, FirstFailureInOrderEndsIt) {
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &pool_}) {
    const ChunksOutcome result = Run(pool, 120);
    EXPECT_EQ(result.chunk, 120);
    EXPECT_EQ(result.outcome.id, 120);
    EXPECT_EQ(taken_, FirstNodes(120));
  }
}

TEST_F(OrderedChunksTest, WhatIsThrownReachesTheCallerAndThePoolGoesOn) {
  EXPECT_THROW(static_cast<void>(Run(&pool_, 7, true)), std::bad_alloc);
  EXPECT_TRUE(Run(&pool_).outcome.done());
}

TEST_F(OrderedChunksTest, PoolThatTakesNoTaskLeavesTheCallerToWorkAlone) {
  pool_.Shutdown();
  EXPECT_TRUE(Run(&pool_).outcome.done());
  EXPECT_EQ(taken_, FirstNodes(kChunks));
}

// ---- files that were not verified -----------------------------------------------------------

// A graph of one type and relation in arrays that a test can damage.
template <typename IdT>
struct RawGraph {
  static constexpr int64_t kNodes = 2000;

  RawGraph() {
    indptr.push_back(0);
    CounterRng rng(7);
    for (int64_t v = 0; v < kNodes; ++v) {
      for (int64_t i = 0; i < v % 23; ++i) {
        indices.push_back(static_cast<IdT>(rng.NextBounded(kNodes)));
      }
      indptr.push_back(std::ssize(indices));
    }
    schema.node_types.push_back({.name = "node", .count = kNodes, .features = {}});
    schema.relations.push_back({.source = "node",
                                .name = "edge",
                                .destination = "node",
                                .count = std::ssize(indices),
                                .features = {}});
    CscSegment segment{.nodes = {0, kNodes}, .indptr = indptr.data()};
    if constexpr (sizeof(IdT) == 4) {
      segment.indices32 = indices.data();
    } else {
      segment.indices64 = indices.data();
    }
    topology.emplace_back(std::vector<int64_t>{0, kNodes}, std::vector<CscSegment>{segment});
  }

  Status Sample(int32_t fanout, int64_t max_table_nodes, ThreadPool* pool) const {
    const SamplingSpec spec = SamplingSpec::Uniform(schema, std::vector<int32_t>{fanout});
    const std::vector<int64_t> seeds = FirstNodes(kNodes);
    FusedWorkspace workspace(schema, max_table_nodes);
    Minibatch minibatch;
    return FusedSampler(&schema, &topology, pool)
        .Sample({.seeds = seeds, .batch_seed = 1, .spec = &spec}, &workspace, &minibatch);
  }

  std::vector<int64_t> indptr;
  std::vector<IdT> indices;
  Schema schema;
  Topology topology;
};

template <typename IdT>
class DamagedFilesTest : public testing::Test {};
using Widths = testing::Types<uint32_t, int64_t>;
TYPED_TEST_SUITE(DamagedFilesTest, Widths);

template <typename IdT>
void ExpectDamageEverywhere(const RawGraph<IdT>& graph, const std::string& text) {
  ThreadPool pool("damage", 2, 8);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    for (const int64_t max_table_nodes : {kMaxTableNodes, int64_t{0}}) {
      for (const int32_t fanout : {-1, 16, 40, 600}) {
        const Status status = graph.Sample(fanout, max_table_nodes, threads);
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status << " fanout " << fanout;
        EXPECT_NE(Message(status).find("node:edge:node"), std::string::npos) << status;
        EXPECT_NE(Message(status).find(text), std::string::npos) << status;
      }
    }
  }
}

TYPED_TEST(DamagedFilesTest, SourceBeyondTheTypeIsDataLossNotAnAccess) {
  RawGraph<TypeParam> graph;
  graph.indices[graph.indices.size() / 2] = static_cast<TypeParam>(-2);
  graph.indices[graph.indices.size() - 1] = static_cast<TypeParam>(RawGraph<TypeParam>::kNodes);
  // Degrees stay below the fanouts: every edge is read.
  ThreadPool pool("damage", 2, 8);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    for (const int64_t max_table_nodes : {kMaxTableNodes, int64_t{0}}) {
      for (const int32_t fanout : {-1, 40, 600}) {
        const Status status = graph.Sample(fanout, max_table_nodes, threads);
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
        EXPECT_NE(Message(status).find("node:edge:node"), std::string::npos) << status;
      }
    }
  }
}

TYPED_TEST(DamagedFilesTest, OffsetsThatDescendOrLeaveTheFileAreDataLoss) {
  for (const int64_t offset : {int64_t{-1}, int64_t{1} << 60, INT64_MIN, INT64_MAX}) {
    RawGraph<TypeParam> graph;
    graph.indptr[1234] = offset;
    ExpectDamageEverywhere(graph, "offsets of node");
    EXPECT_EQ(CountPicks({.topology = &graph.topology[0], .fanout = 5}, 1234), -1);
  }
}

TYPED_TEST(DamagedFilesTest, OneLayerFormFindsDamagedOffsets) {
  RawGraph<TypeParam> graph;
  graph.indptr[50] = 1 << 30;
  const std::vector<int64_t> destinations = FirstNodes(100);
  NeighborPicks picks;
  const FusedOutcome outcome =
      SampleNeighbors({.topology = &graph.topology[0], .fanout = 3}, destinations, nullptr, &picks);
  EXPECT_EQ(outcome.kind, FusedOutcome::Kind::kDamagedOffsets);
  EXPECT_TRUE(outcome.id == 49 || outcome.id == 50);
}

}  // namespace
}  // namespace halograph

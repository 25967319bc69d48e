// One minibatch on several threads, and files that hold what they cannot mean.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/kernel/chunks.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/kernel/split.h"
#include "tests/support/random_graph.h"
#include "tests/unit/sampling/memory_graph.h"
#include "tests/unit/sampling/random_request.h"

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
  CounterRng rng(2);
  const RandomExclusions exclude(graph, &rng);
  ASSERT_FALSE(exclude.edges().empty());
  const FusedSampler alone(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
  FusedWorkspace of_split(graph.schema);
  for (const size_t threads : {1U, 3U}) {
    ThreadPool pool("split", threads, 8);
    const FusedSampler split(&graph.schema, &graph.topology, &pool);
    for (const auto& fanouts : {std::vector<int32_t>{15, 10, 5}, {-1, 20}, {100, 0, 60}}) {
      for (const bool replace : {false, true}) {
        const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, fanouts, replace);
        SampleRequest request{
            .seeds = {{.type = type, .ids = seeds}}, .batch_seed = 5, .spec = &spec};
        if (replace) {
          request.exclude = exclude.edges();
          request.edge_ids = true;
        }
        Minibatch expected;
        Minibatch minibatch;
        ASSERT_TRUE(alone.Sample(request, &workspace, &expected).ok());
        ASSERT_TRUE(split.Sample(request, &of_split, &minibatch).ok());
        EXPECT_TRUE(minibatch == expected) << threads << " threads, fanout " << fanouts[0];
      }
    }
  }
}

class ChunkCrewTest : public testing::Test {
 protected:
  static constexpr int64_t kChunks = 400;

  // Takes of each chunk its number; `fail_at`: the chunk from which on sampling fails.
  ChunksOutcome Run(ChunkCrew* crew, int64_t chunks = kChunks, int64_t fail_at = kChunks,
                    bool throws = false) {
    taken_.clear();
    std::vector<int64_t> slots(crew->slots(), -1);
    return crew->Run(
        chunks,
        [&](int64_t chunk, size_t slot, FusedRoom*) {
          if (chunk >= fail_at && throws) throw std::runtime_error(std::to_string(chunk));
          slots[slot] = chunk;
          return FusedOutcome{.kind = chunk >= fail_at ? FusedOutcome::Kind::kDamagedOffsets
                                                       : FusedOutcome::Kind::kDone,
                              .id = chunk};
        },
        [&](int64_t chunk, size_t slot) {
          EXPECT_EQ(slots[slot], chunk);
          taken_.push_back(chunk);
          return FusedOutcome();
        });
  }

  std::vector<int64_t> taken_;
  ThreadPool pool_{"chunks", 3, 4};
  FusedRoom room_;
  ChunkCrew alone_{nullptr, &room_};
  ChunkCrew crew_{&pool_, &room_};
};

TEST_F(ChunkCrewTest, EachIsTakenOnceAndInOrder) {
  for (ChunkCrew* crew : {&alone_, &crew_}) {
    EXPECT_TRUE(Run(crew).outcome.done());
    EXPECT_EQ(taken_, FirstNodes(kChunks));
  }
}

TEST_F(ChunkCrewTest, ListsFollowOneAnother) {
  for (int64_t chunks = 0; chunks < 300; ++chunks) {
    ASSERT_TRUE(Run(&crew_, chunks % 50).outcome.done());
    ASSERT_EQ(taken_, FirstNodes(chunks % 50));
  }
}

TEST_F(ChunkCrewTest, PoolsThreadsSampleBesideTheCaller) {
  std::mutex mutex;
  std::condition_variable arrived;
  std::set<std::thread::id> threads;
  const auto sample = [&](int64_t, size_t, FusedRoom*) {
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    arrived.notify_all();
    // Nobody goes on alone.
    arrived.wait_for(lock, std::chrono::seconds(30), [&] { return threads.size() > 1; });
    return FusedOutcome();
  };
  const auto take = [](int64_t, size_t) { return FusedOutcome(); };
  EXPECT_TRUE(crew_.Run(2, sample, take).outcome.done());
  EXPECT_EQ(threads.size(), 2U);
}

TEST_F(ChunkCrewTest, NoMoreChunksThanSlotsWaitToBeTaken) {
  std::atomic<int64_t> waiting{0};
  std::atomic<int64_t> most{0};
  const auto sample = [&](int64_t, size_t, FusedRoom*) {
    const int64_t now = ++waiting;
    for (int64_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    return FusedOutcome();
  };
  const auto take = [&](int64_t, size_t) {
    // Gives the others time to run ahead as far as they may.
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    --waiting;
    return FusedOutcome();
  };
  EXPECT_TRUE(crew_.Run(kChunks, sample, take).outcome.done());
  EXPECT_LE(most, static_cast<int64_t>(crew_.slots()));
}

TEST_F(ChunkCrewTest, ThreadsSleepWhileNoListIsThere) {
  EXPECT_TRUE(Run(&crew_).outcome.done());
  const std::clock_t before = std::clock();  // CPU time of all threads
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.05);
}

TEST_F(ChunkCrewTest, FirstFailureInOrderEndsItAndTheNextListRuns) {
  for (ChunkCrew* crew : {&alone_, &crew_}) {
    const ChunksOutcome result = Run(crew, kChunks, 120);
    EXPECT_EQ(result.chunk, 120);
    EXPECT_EQ(result.outcome.id, 120);
    EXPECT_EQ(taken_, FirstNodes(120));
    EXPECT_TRUE(Run(crew).outcome.done());
  }
}

TEST_F(ChunkCrewTest, FirstThrownInOrderReachesTheCallerAndTheNextListRuns) {
  for (ChunkCrew* crew : {&alone_, &crew_}) {
    std::string what;
    try {
      static_cast<void>(Run(crew, kChunks, 7, true));
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
    EXPECT_EQ(what, "7");
    EXPECT_EQ(taken_, FirstNodes(7));
    EXPECT_TRUE(Run(crew).outcome.done());
  }
}

TEST_F(ChunkCrewTest, PoolThatTakesNoTaskLeavesTheCallerToWorkAlone) {
  pool_.Shutdown();
  EXPECT_TRUE(Run(&crew_).outcome.done());
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
        .Sample({.seeds = {{.ids = seeds}}, .batch_seed = 1, .spec = &spec}, &workspace,
                &minibatch);
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
    EXPECT_EQ(CountPicks(MakeLayerDraws(graph.topology[0], {.fanout = 5}, 0).value(), 1234), -1);
  }
}

TYPED_TEST(DamagedFilesTest, OneLayerFormFindsDamagedOffsets) {
  RawGraph<TypeParam> graph;
  graph.indptr[50] = 1 << 30;
  const std::vector<int64_t> destinations = FirstNodes(100);
  NeighborPicks picks;
  const FusedOutcome outcome = SampleNeighbors(
      MakeLayerDraws(graph.topology[0], {.fanout = 3}, 0).value(), destinations, nullptr, &picks);
  EXPECT_EQ(outcome.kind, FusedOutcome::Kind::kDamagedOffsets);
  EXPECT_TRUE(outcome.id == 49 || outcome.id == 50);
}

}  // namespace
}  // namespace halograph

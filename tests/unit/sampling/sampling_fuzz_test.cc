// Every way to make a minibatch against the slow oracle, over many small graphs of odd shapes: the
// fused sampler with each map, alone and on several threads, and the builder over the one-layer
// form, alone and on several threads.
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "tests/unit/sampling/memory_graph.h"
#include "tests/unit/sampling/odd_graph.h"
#include "tests/unit/sampling/random_request.h"
#include "tests/unit/sampling/slow_sampling.h"

namespace halograph {
namespace {

constexpr int32_t kOddFanouts[] = {-1, 0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 33, 48, 49, 130, 700};

// Seeds of a type: none, one, or up to a few hundred of few nodes, most of them more than once.
constexpr uint64_t kOddCounts[] = {0, 1, 2, 30, 150, 300};

class SamplingFuzzTest : public testing::TestWithParam<uint64_t> {
 protected:
  static constexpr int kGraphs = 25;
  static constexpr int kBatches = 3;

  ThreadPool one_{"one", 1, 8};
  ThreadPool three_{"three", 3, 32};

  void ExpectAllAlike(const MemoryGraph& graph, const SampleRequest& request, FusedWorkspace* table,
                      FusedWorkspace* hash) {
    const Minibatch expected = SlowMinibatch(graph, request);
    for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &one_, &three_}) {
      const size_t threads = pool == nullptr ? 1 : 1 + pool->threads();
      const FusedSampler sampler(&graph.schema, &graph.topology, pool);
      for (FusedWorkspace* workspace : {table, hash}) {
        ASSERT_TRUE(sampler.Sample(request, workspace, &fused_).ok());
        EXPECT_TRUE(fused_ == expected)
            << "fused, " << threads << " threads, " << (workspace == table ? "table" : "hash");
      }
      LocalSource source(&graph.schema, &graph.topology, pool);
      const auto built = BuildAlone(graph.schema, request, source);
      ASSERT_TRUE(built.ok()) << built.status();
      EXPECT_TRUE(*built == expected) << "built, " << threads << " threads";
    }
  }

 private:
  Minibatch fused_;  // its memory is reused, too
};

TEST_P(SamplingFuzzTest, EveryWayGivesTheOraclesMinibatch) {
  for (int g = 0; g < kGraphs; ++g) {
    CounterRng rng(SubKey(GetParam(), static_cast<uint64_t>(g)));
    const MemoryGraph graph(OddGraph(&rng), g % 2 == 0 ? IdWidth::k32 : IdWidth::k64);
    FusedWorkspace table(graph.schema);
    FusedWorkspace hash(graph.schema, 0);
    for (int b = 0; b < kBatches; ++b) {
      SCOPED_TRACE(testing::Message() << "graph " << g << " batch " << b);
      const SamplingSpec spec = RandomSpec(graph.schema, kOddFanouts, 6, &rng);
      const uint64_t most = kOddCounts[rng.NextBounded(std::size(kOddCounts))];
      const RandomSeedLists seeds(graph.schema, most, &rng);
      const RandomExclusions exclude(graph, &rng);
      ExpectAllAlike(graph,
                     {.seeds = seeds.lists(),
                      .batch_seed = rng.Next(),
                      .spec = &spec,
                      .exclude = exclude.edges(),
                      .edge_ids = rng.NextBounded(2) == 0},
                     &table, &hash);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SamplingFuzzTest, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace halograph

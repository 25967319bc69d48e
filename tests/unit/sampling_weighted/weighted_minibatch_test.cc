// Whole minibatches by weight: the golden ones, whichever way they are made.
#include <gtest/gtest.h>

#include "common/base/thread_pool.h"
#include "common/graph/partition.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "common/sampling/weighted_picks.h"
#include "tests/support/golden.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"
#include "tests/unit/sampling_weighted/weighted_node.h"

namespace halograph {
namespace {

std::unique_ptr<PartitionSet> WriteAndOpen(const TestGraphSpec& spec, const TestFolder& folder) {
  const auto path = WriteTestGraph(spec, folder.path() / "graph");
  EXPECT_TRUE(path.ok()) << path.status();
  if (!path.ok()) return nullptr;
  auto set = PartitionSet::Open(*path, {}, VerifyLevel::kContents);
  EXPECT_TRUE(set.ok()) << set.status();
  return set.ok() ? std::move(*set) : nullptr;
}

TEST(WeightedMinibatchTest, BuiltAndFusedMinibatchesAreGolden) {
  const auto golden = LoadGoldenSampling("golden_weighted_v1.json");
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_EQ(golden->raw.at("contract"), kSamplingContract);
  const TestFolder folder;
  const auto set = WriteAndOpen(golden->spec, folder);
  ASSERT_NE(set, nullptr);
  ThreadPool pool("test", 3, 64);
  LocalSource source(&set->schema(), &set->topology(), &pool);
  const FusedSampler fused(&set->schema(), &set->topology());
  BuilderWorkspaces workspaces(&set->schema(), 1);
  FusedWorkspace workspace(set->schema());
  ASSERT_GE(golden->minibatches.size(), 5U);
  for (const GoldenMinibatch& expected : golden->minibatches) {
    const SampleRequest request = expected.request();
    Minibatch minibatch;
    ASSERT_EQ(BuildMinibatches(set->schema(), {&request, 1}, source, &workspaces, {&minibatch, 1}),
              OkStatus());
    EXPECT_TRUE(minibatch == expected.expected) << expected.name;
    ASSERT_EQ(fused.Sample(expected.request(), &workspace, &minibatch), OkStatus());
    EXPECT_TRUE(minibatch == expected.expected) << expected.name;
  }
}

// Several seed types, edge ids, weights and edges left out, on any number of threads.
TEST(EdgeColumnsTest, BuiltAndFusedMinibatchesAreGolden) {
  const auto golden = LoadGoldenSampling("golden_edges_v1.json");
  ASSERT_TRUE(golden.ok()) << golden.status();
  const TestFolder folder;
  const auto set = WriteAndOpen(golden->spec, folder);
  ASSERT_NE(set, nullptr);
  ThreadPool pool("test", 3, 64);
  BuilderWorkspaces workspaces(&set->schema(), 1);
  FusedWorkspace workspace(set->schema());
  Minibatch minibatch;  // its memory is reused: what is not asked for is empty again
  ASSERT_GE(golden->minibatches.size(), 15U);
  for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    LocalSource source(&set->schema(), &set->topology(), threads);
    const FusedSampler fused(&set->schema(), &set->topology(), threads);
    for (const GoldenMinibatch& expected : golden->minibatches) {
      const SampleRequest request = expected.request();
      ASSERT_EQ(
          BuildMinibatches(set->schema(), {&request, 1}, source, &workspaces, {&minibatch, 1}),
          OkStatus());
      EXPECT_TRUE(minibatch == expected.expected) << expected.name << ", built";
      ASSERT_EQ(fused.Sample(request, &workspace, &minibatch), OkStatus());
      EXPECT_TRUE(minibatch == expected.expected) << expected.name << ", fused";
    }
  }
}

// Enough destinations for several chunks, with hubs that take the long way.
TestGraphSpec LargerGraph() {
  TestGraphSpec spec =
      RandomGraph({.seed = 5, .parts = 3, .nodes = 4000, .mean_degree = 20, .feature_dim = 0});
  TestRelation& relation = spec.relations[0];
  const auto edges = static_cast<int64_t>(relation.edges.size());
  relation.features = {MakeTensor("w", HeavyTail(3, edges, -6, true))};
  relation.features[0].spec.sampling = true;
  return spec;
}

TEST(WeightedMinibatchTest, ThreadsChangeNoMinibatch) {
  const TestFolder folder;
  const auto set = WriteAndOpen(LargerGraph(), folder);
  ASSERT_NE(set, nullptr);
  std::vector<int64_t> seeds(3000);
  for (int64_t i = 0; i < 3000; ++i) seeds[i] = (i * 1597) % 4000;
  ThreadPool pool("test", 4, 64);
  LocalSource source(&set->schema(), &set->topology(), nullptr);
  BuilderWorkspaces workspaces(&set->schema(), 1);
  for (const bool replace : {false, true}) {
    SamplingSpec spec =
        SamplingSpec::Uniform(set->schema(), std::vector<int32_t>{10, 7, 3}, replace);
    ASSERT_EQ(spec.DrawBy(set->schema(), "w"), OkStatus());
    const SampleRequest request{
        .seeds = {{.type = 0, .ids = seeds}}, .batch_seed = 4, .spec = &spec};
    Minibatch expected;
    ASSERT_EQ(BuildMinibatches(set->schema(), {&request, 1}, source, &workspaces, {&expected, 1}),
              OkStatus());
    for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      FusedWorkspace workspace(set->schema());
      Minibatch minibatch;
      ASSERT_EQ(FusedSampler(&set->schema(), &set->topology(), threads)
                    .Sample(request, &workspace, &minibatch),
                OkStatus());
      EXPECT_TRUE(minibatch == expected);
    }
  }
}

// Of every edge by its id: its ends are those of the block, its weight that of the input.
TEST(EdgeColumnsTest, EdgeIdsAndWeightsAreThoseOfTheDrawnEdges) {
  const TestFolder folder;
  const TestGraphSpec graph = LargerGraph();
  const auto set = WriteAndOpen(graph, folder);
  ASSERT_NE(set, nullptr);
  const RelationTopology& topology = set->topology()[0];
  std::vector<int64_t> seeds(2000);
  for (int64_t i = 0; i < 2000; ++i) seeds[i] = (i * 1597) % 4000;
  ThreadPool pool("test", 4, 64);
  for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    SamplingSpec spec = SamplingSpec::Uniform(set->schema(), std::vector<int32_t>{20, -1});
    ASSERT_EQ(spec.DrawBy(set->schema(), "w"), OkStatus());
    FusedWorkspace workspace(set->schema());
    Minibatch minibatch;
    ASSERT_EQ(FusedSampler(&set->schema(), &set->topology(), threads)
                  .Sample({.seeds = {{.ids = seeds}},
                           .batch_seed = 4,
                           .spec = &spec,
                           .exclude = {},
                           .edge_ids = true,
                           .weights = true},
                          &workspace, &minibatch),
              OkStatus());
    for (const SampledLayer& layer : minibatch.layers) {
      const Block& block = layer.blocks[0];
      ASSERT_EQ(block.edge_ids.size(), block.indices.size());
      ASSERT_EQ(block.weights.size(), block.indices.size());
      for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
        const CscSegment& segment = topology.Owner(minibatch.nodes[0][i]);
        const int64_t local = minibatch.nodes[0][i] - segment.nodes.begin;
        for (int64_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
          const int64_t position = block.edge_ids[e] - segment.first_edge;
          ASSERT_GE(position, segment.indptr[local]);
          ASSERT_LT(position, segment.indptr[local + 1]);
          ASSERT_EQ(segment.Source(position), minibatch.nodes[0][block.indices[e]]);
          ASSERT_EQ(block.weights[e], static_cast<float>(segment.weights[0].weights[position]));
        }
      }
    }
  }
}

TEST(WeightedMinibatchTest, ThreadsChangeNoLayer) {
  const TestFolder folder;
  const auto set = WriteAndOpen(LargerGraph(), folder);
  ASSERT_NE(set, nullptr);
  std::vector<int64_t> destinations(4000);
  for (int64_t v = 0; v < 4000; ++v) destinations[v] = (v * 1597) % 4000;
  for (const bool replace : {false, true}) {
    for (const int32_t fanout : {-1, 0, 3, 40}) {
      const LayerDraws draws =
          MakeLayerDraws(set->topology()[0], {.fanout = fanout, .replace = replace, .weight = 0},
                         LayerKey(1, 0, 1, 0))
              .value();
      NeighborPicks alone;
      static_cast<void>(SampleNeighbors(draws, destinations, nullptr, &alone));
      ThreadPool pool("test", 4, 64);
      NeighborPicks together;
      static_cast<void>(SampleNeighbors(draws, destinations, &pool, &together));
      EXPECT_EQ(together.offsets, alone.offsets) << fanout;
      EXPECT_EQ(together.sources, alone.sources) << fanout;
      for (size_t i = 0; i < destinations.size(); ++i) {
        const int64_t picked = alone.offsets[i + 1] - alone.offsets[i];
        ASSERT_EQ(CountPicks(draws, destinations[i]), picked);
        if (picked < 2) continue;
        NeighborPicks range;
        ASSERT_TRUE(SampleNeighborRange(draws, destinations[i], 1, picked - 1, &range).done());
        const auto begin = alone.sources.begin() + alone.offsets[i];
        ASSERT_TRUE(std::equal(begin + 1, begin + picked, range.sources.begin())) << fanout;
        ASSERT_EQ(range.size(), picked - 1);
      }
    }
  }
}

}  // namespace
}  // namespace halograph

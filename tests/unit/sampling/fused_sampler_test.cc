// The fused sampler against the builder, the slow oracle and the golden vectors.
#include "common/sampling/kernel/fused_sampler.h"

#include <thread>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/graph/partition.h"
#include "common/sampling/kernel/layer.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "hwy/highway.h"
#include "tests/support/golden.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"
#include "tests/unit/sampling/memory_graph.h"
#include "tests/unit/sampling/random_request.h"
#include "tests/unit/sampling/slow_sampling.h"

namespace halograph {
namespace {

// Fanouts on both sides of every change of method: SIMD widths, scanned picks, pieces, none, all.
constexpr int32_t kFanouts[] = {-1, 0, 1, 2, 3, 5, 7, 8, 9, 10, 15, 16, 17, 40, 48, 49, 100, 600};

struct RandomRequest {
  SamplingSpec spec;
  RandomSeedLists seeds;
  RandomExclusions exclude;
  SampleRequest request;

  RandomRequest(const MemoryGraph& graph, CounterRng* rng)
      : spec(RandomSpec(graph.schema, kFanouts, 5, rng)),
        seeds(graph.schema, UINT32_MAX, rng),
        exclude(graph, rng) {
    request = {.seeds = seeds.lists(),
               .batch_seed = rng->Next(),
               .spec = &spec,
               .exclude = exclude.edges(),
               .edge_ids = rng->NextBounded(2) == 0};
  }
};

// Five minibatches in one workspace over one graph. `max_table_nodes`: which map.
void ExpectLikeTheOthers(const TestGraphSpec& spec, uint64_t seed, int64_t max_table_nodes) {
  CounterRng rng(Mix(seed));
  const MemoryGraph graph(spec, seed % 2 == 0 ? IdWidth::k32 : IdWidth::k64);
  const FusedSampler sampler(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema, max_table_nodes);
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  Minibatch fused;
  for (int i = 0; i < 5; ++i) {
    const RandomRequest random(graph, &rng);
    ASSERT_TRUE(sampler.Sample(random.request, &workspace, &fused).ok());
    const auto built = BuildAlone(graph.schema, random.request, source);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_TRUE(fused == *built) << "graph " << seed << " batch " << i;
    EXPECT_TRUE(fused == SlowMinibatch(graph, random.request))
        << "graph " << seed << " batch " << i;
  }
}

// Each map with each instruction set that this processor has.
class FusedSamplerTest : public testing::TestWithParam<std::tuple<int64_t, int64_t>> {
 protected:
  void SetUp() override { UseTarget(std::get<1>(GetParam())); }
  void TearDown() override { UseTarget(0); }  // back to the best

  static void UseTarget(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  static int64_t max_table_nodes() { return std::get<0>(GetParam()); }
};

TEST_P(FusedSamplerTest, AgreesWithTheBuilderAndTheOracleOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    ExpectLikeTheOthers(RandomGraph({.seed = seed,
                                     .parts = 1 + static_cast<int>(seed / 2 % 4),
                                     .nodes = 1 + static_cast<int64_t>(7 * seed % 190),
                                     .mean_degree = 0.5 + static_cast<double>(seed % 40)}),
                        seed, max_table_nodes());
  }
}

TEST_P(FusedSamplerTest, AgreesWithTheBuilderAndTheOracleOnRandomTypedGraphs) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    ExpectLikeTheOthers(RandomTypedGraph({.seed = seed,
                                          .parts = 1 + static_cast<int>(seed / 2 % 5),
                                          .nodes = 3 + static_cast<int64_t>(11 * seed % 120),
                                          .mean_degree = 1 + static_cast<double>(seed % 30)}),
                        seed + 1000, max_table_nodes());
  }
}

// Many more edges than the stream's buffers hold, hubs, and lists that grow while they are read.
TEST_P(FusedSamplerTest, AgreesWithTheBuilderOnLargerGraphs) {
  for (const int parts : {1, 3}) {
    const MemoryGraph graph(
        RandomGraph({.seed = 3, .parts = parts, .nodes = 6000, .mean_degree = 12}), IdWidth::k32);
    const FusedSampler sampler(&graph.schema, &graph.topology);
    FusedWorkspace workspace(graph.schema, max_table_nodes());
    LocalSource source(&graph.schema, &graph.topology, nullptr);
    Minibatch fused;
    for (const int32_t fanout : kFanouts) {
      CounterRng rng(static_cast<uint64_t>(fanout + 2));
      const std::vector<int64_t> seeds = RandomSeeds(100, 6000, &rng);
      for (const bool replace : {false, true}) {
        const SamplingSpec spec =
            SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{fanout, fanout, 5}, replace);
        const SampleRequest request{.seeds = {{.ids = seeds}},
                                    .batch_seed = rng.Next(),
                                    .spec = &spec,
                                    .exclude = {},
                                    .edge_ids = true};
        ASSERT_TRUE(sampler.Sample(request, &workspace, &fused).ok());
        const auto built = BuildAlone(graph.schema, request, source);
        ASSERT_TRUE(built.ok()) << built.status();
        EXPECT_TRUE(fused == *built) << parts << " parts, fanout " << fanout << " " << replace;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(MapsAndTargets, FusedSamplerTest,
                         testing::Combine(testing::Values(kMaxTableNodes, 0),
                                          testing::ValuesIn(hwy::SupportedAndGeneratedTargets())),
                         [](const auto& kind) {
                           return std::string(std::get<0>(kind.param) > 0 ? "Table" : "Hash") +
                                  hwy::TargetName(std::get<1>(kind.param));
                         });

TEST(FusedSamplerGoldenTest, MinibatchesFromAWrittenGraphAreGolden) {
  const auto golden = LoadGoldenSampling();
  ASSERT_TRUE(golden.ok()) << golden.status();
  const TestFolder folder;
  const auto path = WriteTestGraph(golden->spec, folder.path() / "graph");
  ASSERT_TRUE(path.ok()) << path.status();
  const auto set = PartitionSet::Open(*path, {}, VerifyLevel::kContents);
  ASSERT_TRUE(set.ok()) << set.status();
  const FusedSampler sampler(&(*set)->schema(), &(*set)->topology());
  FusedWorkspace workspace((*set)->schema());
  ASSERT_GE(golden->minibatches.size(), 12U);
  for (const GoldenMinibatch& expected : golden->minibatches) {
    Minibatch minibatch;
    ASSERT_TRUE(sampler.Sample(expected.request(), &workspace, &minibatch).ok());
    EXPECT_TRUE(minibatch == expected.expected) << expected.name;
  }
}

// A node of `degree` in-edges 0, 1, ..: its picks are its positions.
TEST(FusedSamplerGoldenTest, PicksAreGoldenAtBothIdWidths) {
  const auto golden = LoadGoldenSampling();
  ASSERT_TRUE(golden.ok()) << golden.status();
  for (const Json& row : golden->raw.at("picks")) {
    const int64_t node = row.at("node");
    const int64_t degree = row.at("degree");
    const int32_t fanout = row.at("fanout");
    const bool replace = row.at("replace");
    for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
      InEdges in_edges(node + 1);
      for (int64_t i = 0; i < degree; ++i) in_edges[node].push_back(i);
      const MemoryRelation relation(std::move(in_edges), {0, node + 1}, width);
      const int64_t nodes = std::max(node + 1, degree);
      Schema schema;
      schema.node_types.push_back({.name = "node", .count = nodes, .features = {}});
      FusedWorkspace workspace(schema);
      workspace.nodes[0].Reserve(1);
      workspace.nodes[0].ids.data()[0] = node;
      Block block;
      workspace.nodes[0].size = 1;
      const FusedOutcome outcome = SampleFusedLayer(
          {.draws = MakeLayerDraws(relation.topology(), {.fanout = fanout, .replace = replace},
                                   LayerKey(row.at("batch_seed"), row.at("layer"),
                                            row.at("num_relations"), row.at("relation")))
                        .value(),
           .num_destinations = 1},
          &workspace, &block);
      ASSERT_TRUE(outcome.done());
      std::vector<int64_t> positions;
      for (const int32_t index : block.indices) {
        positions.push_back(workspace.nodes[0].ids.data()[index]);
      }
      EXPECT_EQ(positions, row.at("positions").get<std::vector<int64_t>>()) << row;
      EXPECT_EQ(block.indptr, (std::vector<int64_t>{0, std::ssize(positions)})) << row;
    }
  }
}

TEST(FusedSamplerRequestTest, BadRequestsAndChecksAreErrorsAndTheWorkspaceGoesOn) {
  const MemoryGraph graph(RandomGraph({.parts = 2}), IdWidth::k32);
  const FusedSampler sampler(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
  const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{3, 2});
  const std::vector<int64_t> seeds = {1, 2, 1};
  const SampleRequest request{.seeds = {{.ids = seeds}}, .batch_seed = 5, .spec = &spec};
  Minibatch expected;
  ASSERT_TRUE(sampler.Sample(request, &workspace, &expected).ok());
  Minibatch minibatch;
  const std::vector<int64_t> outside = {1, 100};
  SampleRequest bad = request;
  bad.seeds[0].ids = outside;
  EXPECT_EQ(sampler.Sample(bad, &workspace, &minibatch).code(), absl::StatusCode::kOutOfRange);
  int layers = 0;
  const auto check = [&] { return ++layers == 2 ? Cancelled("stop") : OkStatus(); };
  EXPECT_EQ(sampler.Sample(request, &workspace, &minibatch, check).code(),
            absl::StatusCode::kCancelled);
  ASSERT_TRUE(sampler.Sample(request, &workspace, &minibatch).ok());
  EXPECT_TRUE(minibatch == expected);
}

TEST(DirectIdMapTest, EntriesOfEarlierMinibatchesAreGoneAlsoWhenTheBaseWraps) {
  DirectIdMap map(10);
  // Each restart claims a billion positions: every few of them the base cannot grow any further.
  for (int64_t round = 0; round < 12; ++round) {
    const std::vector<int64_t> ids = {3, 9, 3, round % 10};
    std::vector<int64_t> list(8);
    std::vector<int32_t> positions(4);
    const int64_t size = map.FindOrAppend(ids.data(), 4, list.data(), 0, positions.data());
    const bool known = round % 10 == 3 || round % 10 == 9;
    EXPECT_EQ(size, known ? 2 : 3);
    EXPECT_EQ(positions[2], 0);
    EXPECT_EQ(positions[3], round % 10 == 3 ? 0 : round % 10 == 9 ? 1 : 2);
    map.Restart(1'000'000'000);
  }
}

TEST(FusedWorkspacePoolTest, ManyCallersShareFewWorkspacesAndGetTheSame) {
  const MemoryGraph graph(RandomTypedGraph({.parts = 3, .nodes = 3000, .mean_degree = 8}),
                          IdWidth::k32);
  const FusedSampler sampler(&graph.schema, &graph.topology);
  const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, std::vector<int32_t>{6, 4});
  CounterRng rng(4);
  const int type = *graph.schema.NodeTypeIndex("paper");
  const std::vector<int64_t> seeds = RandomSeeds(500, 3000, &rng);
  const SampleRequest request{
      .seeds = {{.type = type, .ids = seeds}}, .batch_seed = 11, .spec = &spec};
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  const auto expected = BuildAlone(graph.schema, request, source);
  ASSERT_TRUE(expected.ok());
  FusedWorkspacePool pool(&graph.schema, 2);
  std::vector<std::thread> callers;
  std::vector<int> equal(5, 0);
  for (size_t c = 0; c < equal.size(); ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < 4; ++i) {
        const FusedWorkspacePool::Lease workspace = pool.Take();
        Minibatch minibatch;
        const Status status = sampler.Sample(request, &*workspace, &minibatch);
        equal[c] += status.ok() && minibatch == *expected ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(equal, std::vector<int>(equal.size(), 4));
}

}  // namespace
}  // namespace halograph

// The C++ against the golden vectors of the contract.
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/graph/partition.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "tests/support/golden.h"
#include "tests/support/test_folder.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {
namespace {

class SamplingContractTest : public testing::Test {
 protected:
  void SetUp() override {
    auto golden = LoadGoldenSampling();
    ASSERT_TRUE(golden.ok()) << golden.status();
    golden_ = *std::move(golden);
  }
  GoldenSampling golden_;
};

TEST_F(SamplingContractTest, VersionIsThatOfTheVectors) {
  EXPECT_EQ(golden_.raw.at("contract"), kSamplingContract);
}

TEST_F(SamplingContractTest, KeysAndDrawsAreGolden) {
  for (const Json& row : golden_.raw.at("keys")) {
    const uint64_t layer_key = LayerKey(FromHex(row.at("batch_seed")), row.at("layer"),
                                        row.at("num_relations"), row.at("relation"));
    EXPECT_EQ(layer_key, FromHex(row.at("layer_key"))) << row;
    const uint64_t node_key = SubKey(layer_key, row.at("node").get<uint64_t>());
    EXPECT_EQ(node_key, FromHex(row.at("node_key"))) << row;
    CounterRng draws(node_key);
    for (const Json& draw : row.at("draws")) EXPECT_EQ(draws.Next(), FromHex(draw)) << row;
  }
}

TEST_F(SamplingContractTest, BoundedIntegersAreGolden) {
  for (const Json& row : golden_.raw.at("bounded")) {
    EXPECT_EQ(Bounded(FromHex(row.at("draw")), FromHex(row.at("n"))), FromHex(row.at("result")))
        << row;
  }
}

TEST_F(SamplingContractTest, BatchSeedsAreGolden) {
  for (const Json& row : golden_.raw.at("batch_seeds")) {
    EXPECT_EQ(BatchSeed(FromHex(row.at("seed")), BatchPurpose{row.at("purpose").get<uint64_t>()},
                        row.at("epoch"), row.at("step"), row.at("world_size"), row.at("rank")),
              FromHex(row.at("batch_seed")))
        << row;
  }
}

// A relation where destination `node`, the last, has sources 0, 1, ... `degree` - 1: its picks are
// its positions.
MemoryRelation CountingRelation(int64_t node, int64_t degree, IdWidth width) {
  InEdges in_edges(node + 1);
  for (int64_t i = 0; i < degree; ++i) in_edges[node].push_back(i);
  return MemoryRelation(std::move(in_edges), {0, node + 1}, width);
}

TEST_F(SamplingContractTest, PicksAreGoldenAtBothIdWidths) {
  for (const Json& row : golden_.raw.at("picks")) {
    for (const IdWidth width : {IdWidth::k32, IdWidth::k64}) {
      const int64_t node = row.at("node");
      const MemoryRelation relation = CountingRelation(node, row.at("degree"), width);
      const LayerDraws draws =
          MakeLayerDraws(relation.topology(),
                         {.fanout = row.at("fanout"), .replace = row.at("replace")},
                         LayerKey(row.at("batch_seed"), row.at("layer"), row.at("num_relations"),
                                  row.at("relation")),
                         {.edge_ids = true})
              .value();
      NeighborPicks picks;
      EXPECT_TRUE(SampleNeighbors(draws, std::span(&node, 1), nullptr, &picks).done());
      EXPECT_EQ(picks.sources, row.at("positions").get<std::vector<int64_t>>()) << row;
      EXPECT_EQ(picks.edge_ids, picks.sources) << row;  // the relation has no other edges
      EXPECT_EQ(picks.offsets, (std::vector<int64_t>{0, picks.size()})) << row;
      EXPECT_EQ(CountPicks(draws, node), picks.size());
    }
  }
}

TEST_F(SamplingContractTest, WrittenGraphHasTheOraclesIdsAndEdges) {
  const TestFolder folder;
  const auto path = WriteTestGraph(golden_.spec, folder.path() / "graph");
  ASSERT_TRUE(path.ok()) << path.status();
  const auto set = PartitionSet::Open(*path, {}, VerifyLevel::kContents);
  ASSERT_TRUE(set.ok()) << set.status();
  for (const auto& [type, ids] : golden_.raw.at("global_ids").items()) {
    EXPECT_EQ(GlobalNodeIds(golden_.spec, type), ids.get<std::vector<int64_t>>()) << type;
  }
  const Json& relations = golden_.raw.at("relations");
  ASSERT_EQ(relations.size(), (*set)->schema().relations.size());
  for (size_t r = 0; r < relations.size(); ++r) {
    EXPECT_EQ((*set)->schema().relations[r].triple(), relations[r].at("triple"));
    const auto in_edges = relations[r].at("in_edges").get<InEdges>();
    const RelationTopology& topology = (*set)->topology()[r];
    ASSERT_EQ(topology.num_destinations(), static_cast<int64_t>(in_edges.size()));
    for (int64_t v = 0; v < topology.num_destinations(); ++v) {
      const CscSegment& segment = topology.Owner(v);
      std::vector<int64_t> sources;
      for (int64_t e = segment.indptr[v - segment.nodes.begin];
           e < segment.indptr[v - segment.nodes.begin + 1]; ++e) {
        sources.push_back(segment.Source(e));
      }
      EXPECT_EQ(sources, in_edges[v]) << relations[r].at("triple") << " " << v;
    }
  }
}

TEST_F(SamplingContractTest, MinibatchesFromAWrittenGraphAreGolden) {
  const TestFolder folder;
  const auto path = WriteTestGraph(golden_.spec, folder.path() / "graph");
  ASSERT_TRUE(path.ok()) << path.status();
  const auto set = PartitionSet::Open(*path, {}, VerifyLevel::kContents);
  ASSERT_TRUE(set.ok()) << set.status();
  LocalSource source(&(*set)->schema(), &(*set)->topology(), nullptr);
  ASSERT_GE(golden_.minibatches.size(), 12U);
  for (const GoldenMinibatch& golden : golden_.minibatches) {
    const auto minibatch = BuildAlone((*set)->schema(), golden.request(), source);
    ASSERT_TRUE(minibatch.ok()) << minibatch.status();
    EXPECT_EQ(minibatch->nodes, golden.expected.nodes) << golden.name;
    EXPECT_TRUE(*minibatch == golden.expected) << golden.name;
  }
}

TEST(LaborContractTest, BuiltAndFusedMinibatchesAreGolden) {
  const auto golden = LoadGoldenSampling("golden_labor_v1.json");
  ASSERT_TRUE(golden.ok()) << golden.status();
  const TestFolder folder;
  const auto path = WriteTestGraph(golden->spec, folder.path() / "graph");
  ASSERT_TRUE(path.ok()) << path.status();
  const auto set = PartitionSet::Open(*path, {}, VerifyLevel::kContents);
  ASSERT_TRUE(set.ok()) << set.status();
  LocalSource source(&(*set)->schema(), &(*set)->topology(), nullptr);
  FusedWorkspace workspace((*set)->schema());
  ASSERT_GE(golden->minibatches.size(), 9U);
  for (const GoldenMinibatch& expected : golden->minibatches) {
    const auto built = BuildAlone((*set)->schema(), expected.request(), source);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_TRUE(*built == expected.expected) << expected.name << ", built";
    Minibatch fused;
    ASSERT_EQ(FusedSampler(&(*set)->schema(), &(*set)->topology())
                  .Sample(expected.request(), &workspace, &fused),
              OkStatus());
    EXPECT_TRUE(fused == expected.expected) << expected.name << ", fused";
  }
}

}  // namespace
}  // namespace halograph

#include "partitioner/write/graph_writer.h"

#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/graph/partition.h"
#include "partitioner/methods/random_method.h"
#include "partitioner/write/nan_check.h"
#include "partitioner/write/renumbering.h"
#include "partitioner/write/writing_plan.h"
#include "tests/support/memory_dataset.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- renumbering --------------------------------------------------------------------------

StatusOr<Renumbering> Renumber(std::vector<std::vector<uint16_t>> owners, int parts,
                               std::vector<std::vector<uint32_t>> order_keys = {},
                               std::vector<std::vector<uint16_t>> sub_parts = {}) {
  DatasetBuilder builder;
  builder.Nodes("a", 5).Nodes("b", 2);
  Assignment assignment;
  assignment.owners = std::move(owners);
  assignment.order_keys = std::move(order_keys);
  assignment.sub_parts = std::move(sub_parts);
  assignment.num_sub_parts = 2;
  return Renumbering::Create(builder.dataset(), std::move(assignment), parts);
}

std::vector<int64_t> Values(const GlobalIdArray& ids) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < ids.size(); ++i) values.push_back(ids[i]);
  return values;
}

TEST(RenumberingTest, PartByPartAndAscendingWithinOne) {
  const auto numbering = Renumber({{2, 0, 2, 1, 0}, {0, 0}}, 4);
  ASSERT_TRUE(numbering.ok()) << numbering.status();
  EXPECT_THAT(Values(numbering->GlobalIds(0)), ElementsAre(3, 0, 4, 2, 1));
  EXPECT_THAT(numbering->boundaries()[0], ElementsAre(0, 2, 3, 5, 5));
  EXPECT_THAT(Values(numbering->GlobalIds(1)), ElementsAre(0, 1));
  EXPECT_THAT(numbering->boundaries()[1], ElementsAre(0, 2, 2, 2, 2));
  EXPECT_EQ(numbering->CoreNodes(0, 2), 2);
  EXPECT_EQ(numbering->CoreNodes(0, 3), 0);
}

TEST(RenumberingTest, KeysOrderTheNodesOfAPartAndEqualOnesKeepInputOrder) {
  const auto numbering = Renumber({{1, 0, 1, 0, 1}, {0, 0}}, 2, {{3, 2, 3, 0, 1}, {6, 5}});
  ASSERT_TRUE(numbering.ok()) << numbering.status();
  EXPECT_FALSE(numbering->in_input_order());
  EXPECT_THAT(Values(numbering->GlobalIds(0)), ElementsAre(3, 1, 4, 0, 2));
  EXPECT_THAT(numbering->boundaries()[0], ElementsAre(0, 2, 5));
  EXPECT_THAT(Values(numbering->GlobalIds(1)), ElementsAre(1, 0));
  EXPECT_EQ(numbering->LocalId(0, 2), 2);
  EXPECT_EQ(numbering->LocalId(0, 1), 1);
}

TEST(RenumberingTest, NodesWithoutAKeyComeLast) {
  const auto numbering = Renumber({{0, 0, 0, 0, 0}, {0, 0}}, 1,
                                  {{kNoOrderKey, 1, kNoOrderKey, 0, 1}, {kNoOrderKey, 0}});
  ASSERT_TRUE(numbering.ok()) << numbering.status();
  EXPECT_THAT(Values(numbering->GlobalIds(0)), ElementsAre(3, 1, 4, 0, 2));
  EXPECT_THAT(Values(numbering->GlobalIds(1)), ElementsAre(1, 0));
}

TEST(RenumberingTest, EqualKeysGiveInputOrder) {
  const auto by_key = Renumber({{2, 0, 2, 1, 0}, {0, 0}}, 4, {{6, 6, 6, 6, 6}, {0, 0}});
  const auto by_input = Renumber({{2, 0, 2, 1, 0}, {0, 0}}, 4);
  EXPECT_TRUE(by_input->in_input_order());
  EXPECT_EQ(Values(by_key->GlobalIds(0)), Values(by_input->GlobalIds(0)));
}

TEST(RenumberingTest, SubPartBySubPartAndAscendingWithinOne) {
  const auto numbering = Renumber({{1, 0, 1, 0, 1}, {0, 0}}, 2, {}, {{1, 1, 0, 0, 1}, {1, 0}});
  ASSERT_TRUE(numbering.ok()) << numbering.status();
  EXPECT_FALSE(numbering->in_input_order());
  EXPECT_THAT(Values(numbering->GlobalIds(0)), ElementsAre(3, 1, 2, 0, 4));
  EXPECT_THAT(numbering->boundaries()[0], ElementsAre(0, 2, 5));
  EXPECT_THAT(Values(numbering->GlobalIds(1)), ElementsAre(1, 0));
  EXPECT_THAT(numbering->boundaries()[1], ElementsAre(0, 2, 2));
}

TEST(RenumberingTest, KeysOrderTheNodesOfASubPart) {
  const auto numbering = Renumber({{0, 0, 0, 0, 0}, {0, 0}}, 1, {{0, 3, 1, 2, kNoOrderKey}, {0, 1}},
                                  {{1, 0, 1, 0, 0}, {1, 0}});
  ASSERT_TRUE(numbering.ok()) << numbering.status();
  EXPECT_THAT(Values(numbering->GlobalIds(0)), ElementsAre(3, 1, 4, 0, 2));
  EXPECT_THAT(Values(numbering->GlobalIds(1)), ElementsAre(1, 0));
}

// Five nodes of type a; clusters of the parts.
StatusOr<Renumbering> RenumberClusters(std::vector<uint16_t> clusters, std::vector<int> counts,
                                       std::vector<uint32_t> keys = {}) {
  DatasetBuilder builder;
  builder.Nodes("a", 5);
  Assignment assignment;
  assignment.owners = {{1, 0, 1, 0, 1}};
  assignment.clusters = {std::move(clusters)};
  assignment.num_clusters = std::move(counts);
  if (!keys.empty()) assignment.order_keys = {std::move(keys)};
  return Renumbering::Create(builder.dataset(), std::move(assignment), 3);
}

TEST(RenumberingTest, ClusterByClusterAndAscendingWithinOne) {
  const auto numbering = RenumberClusters({1, 0, 0, 0, 1}, {1, 2, 0});
  ASSERT_TRUE(numbering.ok()) << numbering.status();
  EXPECT_FALSE(numbering->in_input_order());
  EXPECT_TRUE(numbering->has_clusters());
  EXPECT_THAT(Values(numbering->GlobalIds(0)), ElementsAre(3, 0, 2, 1, 4));
  EXPECT_THAT(numbering->boundaries()[0], ElementsAre(0, 2, 5, 5));
  EXPECT_THAT(numbering->ClusterBounds(0, 0), ElementsAre(0, 2));
  EXPECT_THAT(numbering->ClusterBounds(0, 1), ElementsAre(2, 3, 5));
  EXPECT_THAT(numbering->ClusterBounds(0, 2), ElementsAre(5));
}

TEST(RenumberingTest, KeysOrderTheNodesOfACluster) {
  const auto numbering = RenumberClusters({1, 0, 0, 0, 1}, {1, 2, 0}, {3, 2, 4, 1, 0});
  ASSERT_TRUE(numbering.ok()) << numbering.status();
  EXPECT_THAT(Values(numbering->GlobalIds(0)), ElementsAre(4, 1, 2, 0, 3));
  EXPECT_THAT(numbering->ClusterBounds(0, 1), ElementsAre(2, 3, 5));
}

TEST(RenumberingTest, ClustersThatDoNotFitAreInternal) {
  EXPECT_TRUE(absl::IsInternal(RenumberClusters({0, 0, 0, 0}, {1, 1, 0}).status()));
  EXPECT_TRUE(absl::IsInternal(RenumberClusters({0, 0, 0, 0, 0}, {1, 1}).status()));
  const auto beyond = RenumberClusters({0, 1, 1, 0, 1}, {1, 2, 0});
  EXPECT_TRUE(absl::IsInternal(beyond.status()));
  EXPECT_THAT(Message(beyond.status()), HasSubstr("node 1 of type a is in cluster 1, there are 1"));
}

TEST(RenumberingTest, SubPartsThatDoNotFitAreInternal) {
  const std::vector<std::vector<uint16_t>> owners = {{0, 0, 0, 0, 0}, {0, 0}};
  EXPECT_TRUE(absl::IsInternal(Renumber(owners, 1, {}, {{0, 0, 0, 0, 0}}).status()));
  EXPECT_TRUE(absl::IsInternal(Renumber(owners, 1, {}, {{0, 0, 0, 0}, {0, 0}}).status()));
  const auto beyond = Renumber(owners, 1, {}, {{0, 0, 0, 2, 0}, {0, 0}});
  EXPECT_TRUE(absl::IsInternal(beyond.status()));
  EXPECT_THAT(Message(beyond.status()), HasSubstr("node 3 of type a is in sub-part 2"));
}

TEST(RenumberingTest, KeysThatDoNotFitAreInternal) {
  const std::vector<std::vector<uint16_t>> owners = {{0, 0, 0, 0, 0}, {0, 0}};
  EXPECT_TRUE(absl::IsInternal(Renumber(owners, 1, {{0, 0, 0, 0, 0}}).status()));
  EXPECT_TRUE(absl::IsInternal(Renumber(owners, 1, {{0, 0, 0, 0}, {0, 0}}).status()));
  const auto beyond = Renumber(owners, 1, {{0, 0, 0, 7, 0}, {0, 0}});
  EXPECT_TRUE(absl::IsInternal(beyond.status()));
  EXPECT_THAT(Message(beyond.status()), HasSubstr("node 3 of type a has order key 7"));
}

TEST(RenumberingTest, AssignmentThatDoesNotFitIsInternal) {
  EXPECT_TRUE(absl::IsInternal(Renumber({{0, 0, 0, 0, 0}}, 1).status()));
  EXPECT_TRUE(absl::IsInternal(Renumber({{0, 0, 0, 0}, {0, 0}}, 1).status()));
  const auto beyond = Renumber({{0, 0, 0, 3, 0}, {0, 0}}, 3);
  EXPECT_TRUE(absl::IsInternal(beyond.status()));
  EXPECT_THAT(Message(beyond.status()), HasSubstr("node 3 of type a has owner 3"));
}

// ---- writing plan -------------------------------------------------------------------------

GraphCounts CountsOf(std::vector<int64_t> nodes, std::vector<RelationCounts> relations) {
  GraphCounts counts;
  counts.nodes = std::move(nodes);
  counts.relations = std::move(relations);
  return counts;
}

GraphCounts RandomCounts(uint64_t seed) {
  CounterRng rng(seed);
  const auto size = [&](int bits) {
    return static_cast<int64_t>(rng.NextBounded(uint64_t{1} << rng.NextBounded(bits)));
  };
  GraphCounts counts;
  const int types = 1 + static_cast<int>(rng.NextBounded(3));
  for (int t = 0; t < types; ++t) counts.nodes.push_back(1 + size(28));
  const int relations = 1 + static_cast<int>(rng.NextBounded(20));
  for (int r = 0; r < relations; ++r) {
    counts.relations.push_back({.source_type = static_cast<int>(rng.NextBounded(types)),
                                .destination_type = static_cast<int>(rng.NextBounded(types)),
                                .edges = size(32)});
  }
  return counts;
}

TEST(WritingPlanTest, WhatIsAdvisedWorksAndMoreNeverTakesMoreThanIsGiven) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const GraphCounts counts = RandomCounts(seed);
    for (const int parts : {1, 8, 4096}) {
      const int64_t least = kProgramBytes + PlanWriting(counts, 1 << 20, parts).peak_bytes();
      for (const int64_t memory : {least, least + 1, least + least / 3, 2 * least, 20 * least}) {
        const MemoryPlan plan = PlanWriting(counts, memory, parts);
        EXPECT_TRUE(CheckMemory(plan, memory).ok())
            << "seed " << seed << ", " << parts << " parts, " << memory << "\n"
            << plan.ToText();
      }
      EXPECT_FALSE(CheckMemory(PlanWriting(counts, 1 << 20, parts), 1 << 20).ok());
    }
  }
}

// papers100M's size in 8 GiB, and in less.
TEST(WritingPlanTest, BillionsOfEdgesFitALittleMoreThanTheirNodes) {
  const GraphCounts counts =
      CountsOf({111059956}, {{.source_type = 0, .destination_type = 0, .edges = 1615685872}});
  const WritingBudget budget = BudgetWriting(counts, int64_t{8} << 30, 8);
  EXPECT_FALSE(budget.in_memory);
  EXPECT_EQ(BucketFileBytes(counts, budget), 12 * counts.num_edges());
  EXPECT_LE(PlanWriting(counts, int64_t{8} << 30, 8).peak_bytes(), int64_t{1} << 30);
  EXPECT_LE(PlanWriting(counts, 0, 8).peak_bytes(), 6 * counts.num_nodes() + (int64_t{128} << 20));
  EXPECT_TRUE(BudgetWriting(counts, int64_t{64} << 30, 8).in_memory);
}

TEST(WritingPlanTest, ClusterOrderCountsItsKeysAndTheirSorting) {
  const GraphCounts counts = CountsOf({1'000'000, 200'000}, {});
  const MemoryPlan plain = PlanWriting(counts, int64_t{1} << 30, 8);
  const MemoryPlan ordered = PlanWriting(counts, int64_t{1} << 30, 8, NodeOrder::kCluster);
  EXPECT_EQ(ordered.phases[0].name, "renumbering");
  EXPECT_EQ(ordered.phases[0].bytes() - plain.phases[0].bytes(), 4 * 1'200'000 + 4 * 2'200'000);
  EXPECT_EQ(ordered.phases[1].bytes(), plain.phases[1].bytes());
  const MemoryPlan divided = PlanWriting(counts, int64_t{1} << 30, 8, NodeOrder::kInput, true);
  EXPECT_EQ(divided.phases[0].bytes() - plain.phases[0].bytes(), 2 * counts.num_nodes());
  EXPECT_EQ(divided.phases[1].bytes(), plain.phases[1].bytes());
}

TEST(WritingPlanTest, SmallGraphsWaitInMemory) {
  const GraphCounts counts =
      CountsOf({2708}, {{.source_type = 0, .destination_type = 0, .edges = 10556}});
  EXPECT_TRUE(BudgetWriting(counts, int64_t{64} << 20, 2).in_memory);
  EXPECT_EQ(BudgetWriting(counts, int64_t{64} << 20, 2).BucketWidth(2708, 10556), 2708);
}

TEST(WritingBudgetTest, WidthGoesByTheDensityAndIsBounded) {
  const WritingBudget budget{
      .in_memory = false, .bucket_edges = 1000, .sort_edges = 2000, .buffer_bytes = 0};
  EXPECT_EQ(budget.BucketWidth(10000, 100000), 100);
  EXPECT_EQ(budget.BucketWidth(10000, 10), 1000);
  EXPECT_EQ(budget.BucketWidth(10, 1000000), 1);
  EXPECT_EQ(budget.BucketWidth(0, 0), 1);
}

// ---- nan check ----------------------------------------------------------------------------

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
std::optional<size_t> Find(DType dtype, const std::vector<T>& values) {
  return FindNonFinite(dtype, std::as_bytes(std::span(values)));
}

TEST(FindNonFiniteTest, FirstNanOrInfinityAtAnyPosition) {
  for (const size_t position : {0, 1, 1023, 1024, 1025, 3000}) {
    std::vector<float> floats(3001, 1.5F);
    EXPECT_EQ(Find(DType::kFloat32, floats), std::nullopt);
    floats[position] = std::nanf("");
    floats[3000] = std::nanf("");
    EXPECT_EQ(Find(DType::kFloat32, floats), position);
    floats[position] = -kInfinity;
    EXPECT_EQ(Find(DType::kFloat32, floats), position);
    std::vector<double> doubles(3001, -1);
    doubles[position] = -std::nan("");
    EXPECT_EQ(Find(DType::kFloat64, doubles), position);
    doubles[position] = kInfinity;
    EXPECT_EQ(Find(DType::kFloat64, doubles), position);
  }
}

TEST(FindNonFiniteTest, HalvesByTheirBits) {
  EXPECT_EQ(Find<uint16_t>(DType::kFloat16, {0x3c00, 0x7bff, 0xfbff, 0xfe00}), 3U);
  EXPECT_EQ(Find<uint16_t>(DType::kFloat16, {0x3c00, 0xfc00}), 1U);
  EXPECT_EQ(Find<uint16_t>(DType::kBFloat16, {0x3f80, 0x7f7f, 0xff7f, 0x7fc0}), 3U);
  EXPECT_EQ(Find<uint16_t>(DType::kBFloat16, {0x3f80, 0x7f80}), 1U);
}

TEST(FindNonFiniteTest, LargeNumbersAndIntegersAreFinite) {
  EXPECT_EQ(Find<double>(DType::kFloat64, {1e300, -1e300}), std::nullopt);
  EXPECT_EQ(Find<int32_t>(DType::kInt32, {-1, 0x7fc00000}), std::nullopt);
}

TEST(FindNonFiniteTest, UnalignedElements) {
  std::vector<std::byte> bytes(1 + sizeof(float) * 3);
  const float nan = std::nanf("");
  std::memcpy(bytes.data() + 1 + sizeof(float) * 2, &nan, sizeof(nan));
  EXPECT_EQ(FindNonFinite(DType::kFloat32, std::span(bytes).subspan(1)), 2U);
}

template <typename T>
std::optional<size_t> Beyond(DType dtype, const std::vector<T>& values) {
  return FindBeyondFloat32(dtype, std::as_bytes(std::span(values)));
}
template <typename T>
std::optional<size_t> Inexact(DType dtype, const std::vector<T>& values) {
  return FindInexactInFloat32(dtype, std::as_bytes(std::span(values)));
}

TEST(FindBeyondFloat32Test, FiniteNumbersThatBecomeInfinite) {
  EXPECT_EQ(Beyond<double>(DType::kFloat64, {1, -3.4e38, kInfinity, std::nan(""), 1e300}), 4U);
  EXPECT_EQ(Beyond<double>(DType::kFloat64, {1, -3.5e38}), 1U);
  EXPECT_EQ(Beyond<int64_t>(DType::kInt64, {std::numeric_limits<int64_t>::min()}), std::nullopt);
}

TEST(FindInexactInFloat32Test, WholeNumbersThatBecomeOthers) {
  constexpr int64_t kExact = 1 << 24;
  EXPECT_EQ(Inexact<int64_t>(DType::kInt64, {kExact, -kExact, kExact + 2, kExact + 1}), 3U);
  EXPECT_EQ(Inexact<int64_t>(DType::kInt64, {int64_t{1} << 62, -kExact - 1}), 1U);
  EXPECT_EQ(Inexact<int64_t>(DType::kInt64, {std::numeric_limits<int64_t>::max()}), 0U);
  EXPECT_EQ(Inexact<uint64_t>(DType::kUInt64, {uint64_t{1} << 63, ~uint64_t{0}}), 1U);
  EXPECT_EQ(Inexact<int32_t>(DType::kInt32, {kExact, kExact + 1}), 1U);
  EXPECT_EQ(Inexact<uint32_t>(DType::kUInt32, {4294967040, 4294967295}), 1U);
  EXPECT_EQ(Inexact<double>(DType::kFloat64, {16777216.5, 1e300, 0.1, 16777217}), 3U);
  EXPECT_EQ(Inexact<int16_t>(DType::kInt16, {32767}), std::nullopt);
}

// ---- graph writer -------------------------------------------------------------------------

class GraphWriterTest : public testing::Test {
 protected:
  StatusOr<WrittenGraph> TryWrite(const DatasetBuilder& builder, Assignment assignment, int parts,
                                  const WriteOptions& options = {}) {
    HG_ASSIGN_OR_RETURN(const Renumbering numbering,
                        Renumbering::Create(builder.dataset(), std::move(assignment), parts));
    HG_RETURN_IF_ERROR(MakeFolder(folder_.path() / "graph"));
    return WriteGraph({builder.dataset(), numbering, folder_.path() / "graph", options},
                      {{"seed", 3}});
  }

  // Writes, opens with every check, and keeps both.
  void Write(const DatasetBuilder& builder, Assignment assignment, int parts,
             const WriteOptions& options = {}) {
    auto written = TryWrite(builder, std::move(assignment), parts, options);
    ASSERT_TRUE(written.ok()) << written.status();
    written_ = std::move(written).value();
    auto opened = PartitionSet::Open(folder_.path() / "graph", {}, VerifyLevel::kContents);
    ASSERT_TRUE(opened.ok()) << opened.status();
    set_ = std::move(opened).value();
  }

  Assignment Dealt(const DatasetBuilder& builder, int parts, uint64_t seed) {
    return *RandomMethod().Assign(
        builder.dataset(), {.parts = parts, .seed = seed, .balance = {}, .drop_duplicates = false});
  }

  // Input id of each global id.
  std::vector<int64_t> InputIds(int node_type) {
    std::vector<int64_t> ids;
    for (const auto& part : set_->parts()) {
      const auto here = part->NodeOriginalIds(node_type);
      ids.insert(ids.end(), here.begin(), here.end());
    }
    return ids;
  }

  struct Edge {
    int64_t id, source, destination;
    auto operator<=>(const Edge&) const = default;
  };
  // All edges of a relation under input ids, in global order.
  std::vector<Edge> Edges(int relation) {
    const std::vector<int64_t> sources = InputIds(set_->schema().SourceType(relation));
    const std::vector<int64_t> destinations = InputIds(set_->schema().DestinationType(relation));
    std::vector<Edge> edges;
    for (const auto& part : set_->parts()) {
      const CscSegment& csc = part->Edges(relation);
      for (int64_t v = 0; v < csc.nodes.size(); ++v) {
        for (int64_t i = csc.indptr[v]; i < csc.indptr[v + 1]; ++i) {
          edges.push_back({part->EdgeOriginalIds(relation)[i], sources[csc.Source(i)],
                           destinations[csc.nodes.begin + v]});
        }
      }
    }
    return edges;
  }

  template <typename T>
  std::vector<T> TaskValues(int part, int set, int array) {
    const auto values = set_->parts()[part]->TaskArray(0, set, array).As<T>();
    EXPECT_TRUE(values.ok()) << values.status();
    return {values->begin(), values->end()};
  }

  TestFolder folder_;
  WrittenGraph written_;
  std::unique_ptr<PartitionSet> set_;
};

// 0 -> 1, 2 -> 1, 3 -> 0, 1 -> 3 with 0, 3 in part 0 and 1, 2 in part 1
TEST_F(GraphWriterTest, SmallGraphByHand) {
  DatasetBuilder builder;
  builder.Nodes("node", 4).Edges("node", "edge", "node", {{2, 1}, {0, 1}, {3, 0}, {1, 3}});
  Write(builder, {{{0, 1, 1, 0}}, {}}, 2);
  EXPECT_THAT(InputIds(0), ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(Edges(0), ElementsAre(Edge{2, 3, 0}, Edge{3, 1, 3}, Edge{0, 2, 1}, Edge{1, 0, 1}));
  EXPECT_THAT(set_->book().EdgeBoundaries(0), ElementsAre(0, 2, 4));
  EXPECT_THAT(set_->parts()[0]->HaloIds(0), ElementsAre(2));  // global id of 1
  EXPECT_THAT(set_->parts()[1]->HaloIds(0), ElementsAre(0));
  EXPECT_EQ(written_.manifest.part_stats[0]["cut_edges"], 1);
  EXPECT_EQ(written_.manifest.part_stats[1]["cut_edges"], 1);
  EXPECT_EQ(written_.manifest.options["seed"], 3);
}

TEST_F(GraphWriterTest, RandomTypedGraphMatchesOracle) {
  EdgePairs in = RandomEdges(30, 50, 300, 1);
  EdgePairs knows = RandomEdges(30, 30, 200, 2);
  DatasetBuilder builder;
  builder.Nodes("actor", 30)
      .Nodes("movie", 50)
      .Edges("actor", "in", "movie", in)
      .Edges("actor", "knows", "actor", knows)
      .Edges("movie", "no", "movie", {});
  const Assignment assignment = Dealt(builder, 3, 5);
  Write(builder, assignment, 3);
  const std::vector<EdgePairs> inputs = {in, knows, {}};
  for (int relation = 0; relation < 3; ++relation) {
    std::vector<Edge> found = Edges(relation);
    std::map<int64_t, int64_t> last;  // of each destination
    for (const Edge& edge : found) {
      const auto [at, first] = last.try_emplace(edge.destination, edge.id);
      if (!first) {
        EXPECT_LT(std::exchange(at->second, edge.id), edge.id);
      }
    }
    std::vector<Edge> wanted;
    for (const auto& [u, v] : inputs[relation]) {
      wanted.push_back({static_cast<int64_t>(wanted.size()), u, v});
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, wanted) << "relation " << relation;
  }
  for (int part = 0; part < 3; ++part) {
    std::set<int64_t> halo;
    auto add = [&](const EdgePairs& edges, int destination_type) {
      for (const auto& [u, v] : edges) {
        if (assignment.owners[destination_type][v] != part) continue;
        if (assignment.owners[0][u] != part) halo.insert(u);
      }
    };
    add(in, 1);
    add(knows, 0);
    const std::vector<int64_t> actors = InputIds(0);
    std::set<int64_t> found;
    for (const int64_t id : set_->parts()[part]->HaloIds(0)) found.insert(actors[id]);
    EXPECT_EQ(found, halo) << "part " << part;
    EXPECT_TRUE(set_->parts()[part]->HaloIds(1).empty());
  }
}

// One node has half of the edges, more than are sorted at once with the least memory.
EdgePairs HubEdges(int64_t nodes, int64_t count) {
  EdgePairs edges = RandomEdges(nodes, nodes, count, 17);
  for (size_t i = 0; i < edges.size(); i += 2) edges[i].second = 5;
  return edges;
}

TEST_F(GraphWriterTest, LittleMemoryGivesTheSameGraph) {
  for (const bool drop : {false, true}) {
    std::set<std::string> identities;
    for (const int64_t memory : {int64_t{1}, int64_t{64} << 20, int64_t{1} << 40}) {
      DatasetBuilder builder;
      builder.Nodes("node", 3000)
          .Edges("node", "edge", "node", HubEdges(3000, 300000))
          .Edges("node", "other", "node", RandomEdges(3000, 3000, 20000, 3));
      std::filesystem::remove_all(folder_.path() / "graph");
      Write(builder, Dealt(builder, 3, 1), 3,
            {.drop_duplicates = drop, .allow_nan = false, .memory = memory});
      identities.insert(written_.manifest.identity);
      EXPECT_GT(written_.edges.duplicates, 100000);
      EXPECT_FALSE(std::filesystem::exists(folder_.path() / "graph/scratch/edge-buckets"));
    }
    EXPECT_EQ(identities.size(), 1U);
  }
}

TEST_F(GraphWriterTest, FullDiskWhileEdgesWaitThereIsResourceExhausted) {
  DatasetBuilder builder;
  builder.Nodes("node", 100).Edges("node", "edge", "node", RandomEdges(100, 100, 9000, 3));
  const auto message = folder_.path() / "message";
  const pid_t child = ::fork();  // the limit is of a whole process
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50000, 50000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = TryWrite(builder, Dealt(builder, 2, 1), 2,
                                  {.drop_duplicates = false, .allow_nan = false, .memory = 1});
    std::ofstream(message) << Message(written.status());
    ::_exit(absl::IsResourceExhausted(written.status()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::ostringstream text;
  text << std::ifstream(message).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("edge-buckets"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "graph" / "manifest.json"));
}

// Says that it has fewer edges than it gives, or fails when it is opened once more.
class ChangingEdges : public MemoryEdges {
 public:
  ChangingEdges(EdgePairs edges, int64_t count, int opens)
      : MemoryEdges(std::move(edges)), count_(count), opens_(opens) {}
  StatusOr<std::unique_ptr<EdgeCursor>> Open() const override {
    if (opens_-- == 0) return DataLoss("edges.npy: changed since it was read first");
    return MemoryEdges::Open();
  }
  int64_t max_edges() const override { return count_; }

 private:
  const int64_t count_;
  mutable int opens_;
};

TEST_F(GraphWriterTest, InputThatChangesIsDataLoss) {
  const EdgePairs edges = RandomEdges(10, 10, 50, 4);
  for (const auto& [count, opens] : {std::pair<int64_t, int>{40, 9}, {50, 0}, {50, 1}}) {
    DatasetBuilder builder;
    builder.Nodes("node", 10).Edges("node", "edge", "node", {});
    Dataset dataset = builder.dataset();
    dataset.relations[0].edges = std::make_shared<ChangingEdges>(edges, count, opens);
    const auto numbering = Renumbering::Create(dataset, Dealt(builder, 2, 1), 2);
    ASSERT_TRUE(numbering.ok()) << numbering.status();
    const std::filesystem::path folder = folder_.path() / "graph";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const WriteOptions options;
    const auto written = WriteGraph({dataset, *numbering, folder, options}, {});
    EXPECT_TRUE(absl::IsDataLoss(written.status())) << written.status();
    EXPECT_THAT(Message(written.status()), HasSubstr("changed"));
  }
}

TEST_F(GraphWriterTest, NodeAndEdgeFeaturesFollowTheirOwners) {
  std::vector<float> features(40 * 3);
  std::iota(features.begin(), features.end(), 0.5F);
  std::vector<uint8_t> flags(40);
  std::iota(flags.begin(), flags.end(), uint8_t{7});
  std::vector<int16_t> weights(100 * 2);
  std::iota(weights.begin(), weights.end(), int16_t{-9});
  DatasetBuilder builder;
  builder.Nodes("node", 40)
      .NodeFeature("feat", features, 3)
      .NodeFeature("flag", flags, 0)
      // Two edges share a row, as where each edge was given its reverse.
      .Edges("node", "edge", "node", RandomEdges(40, 40, 200, 3))
      .EdgeFeature("weight", weights, 2, 2);
  Write(builder, Dealt(builder, 3, 1), 3);
  for (const auto& part : set_->parts()) {
    const auto ids = part->NodeOriginalIds(0);
    const auto feat = *part->NodeFeature(0, 0).As<float>();
    const auto flag = *part->NodeFeature(0, 1).As<uint8_t>();
    for (size_t row = 0; row < ids.size(); ++row) {
      for (size_t c = 0; c < 3; ++c) EXPECT_EQ(feat[row * 3 + c], features[ids[row] * 3 + c]);
      EXPECT_EQ(flag[row], flags[ids[row]]);
    }
    const auto edge_ids = part->EdgeOriginalIds(0);
    const auto weight = *part->EdgeFeature(0, 0).As<int16_t>();
    for (size_t row = 0; row < edge_ids.size(); ++row) {
      EXPECT_EQ(weight[row * 2], weights[edge_ids[row] / 2 * 2]);
      EXPECT_EQ(weight[row * 2 + 1], weights[edge_ids[row] / 2 * 2 + 1]);
    }
  }
}

TEST_F(GraphWriterTest, DuplicatesAreDroppedAndCounted) {
  DatasetBuilder builder;
  builder.Nodes("node", 3)
      .Edges("node", "edge", "node", {{0, 1}, {2, 1}, {0, 1}, {1, 1}, {1, 1}, {0, 2}, {0, 1}})
      .EdgeFeature("weight", std::vector<float>{0, 1, 2, 3, 4, 5, 6}, 0);
  Write(builder, {{{0, 1, 1}}, {}}, 2, {.drop_duplicates = true, .allow_nan = false});
  EXPECT_THAT(Edges(0), ElementsAre(Edge{0, 0, 1}, Edge{1, 2, 1}, Edge{3, 1, 1}, Edge{5, 0, 2}));
  EXPECT_EQ(set_->schema().relations[0].count, 4);
  EXPECT_THAT(*set_->parts()[1]->EdgeFeature(0, 0).As<float>(), ElementsAre(0, 1, 3, 5));
  EXPECT_EQ(written_.edges.read, 7);
  EXPECT_EQ(written_.edges.duplicates, 3);
  EXPECT_EQ(written_.edges.duplicates_dropped, 3);
  EXPECT_EQ(written_.edges.self_loops, 2);
}

TEST_F(GraphWriterTest, SelfLoopsThatTheStreamDropsAreCounted) {
  DatasetBuilder builder;
  builder.Nodes("node", 3).Edges("node", "edge", "node", {{0, 0}, {0, 1}, {1, 1}, {0, 1}}, true);
  Write(builder, {{{0, 1, 1}}, {}}, 2);
  EXPECT_THAT(Edges(0), ElementsAre(Edge{1, 0, 1}, Edge{3, 0, 1}));
  EXPECT_EQ(written_.edges.self_loops_dropped, 2);
  EXPECT_EQ(written_.edges.self_loops, 0);
  EXPECT_EQ(written_.edges.duplicates, 1);
  EXPECT_EQ(written_.edges.duplicates_dropped, 0);
}

TEST_F(GraphWriterTest, TaskRowsGoToTheirOwnersInInputOrder) {
  DatasetBuilder builder;
  builder.Nodes("a", 4)
      .Nodes("b", 3)
      .Edges("a", "to", "b", {{0, 0}})
      .TaskSet("train", "a", false, {3, 0, 3, 1, 2})
      .TaskArray<int64_t>("labels", {30, 0, 31, 10, 20})
      .TaskSet("valid", "a:to:b", true, {0, 2, 3, 0, 1, 2}, 2)
      .TaskArray<int64_t>("negative_srcs", {1, 2, 0, 1, 3, 3}, 2)
      .TaskSet("test", "b", false, {});
  // a: 0, 2 in part 0 (global 0, 1), 1, 3 in part 1 (2, 3); b: 0 in part 0, 1, 2 in part 1
  Write(builder, {{{0, 1, 0, 1}, {0, 1, 1}}, {}}, 2);
  EXPECT_THAT(TaskValues<int64_t>(0, 0, 0), ElementsAre(0, 1));
  EXPECT_THAT(TaskValues<int64_t>(0, 0, 1), ElementsAre(0, 20));
  EXPECT_THAT(TaskValues<int64_t>(1, 0, 0), ElementsAre(3, 3, 2));
  EXPECT_THAT(TaskValues<int64_t>(1, 0, 1), ElementsAre(30, 31, 10));
  EXPECT_THAT(TaskValues<int64_t>(0, 1, 0), ElementsAre(3, 0));
  EXPECT_THAT(TaskValues<int64_t>(1, 1, 0), ElementsAre(0, 2, 2, 2));
  EXPECT_THAT(TaskValues<int64_t>(0, 1, 1), ElementsAre(0, 2));
  EXPECT_THAT(TaskValues<int64_t>(1, 1, 1), ElementsAre(2, 1, 3, 3));
  EXPECT_TRUE(TaskValues<int64_t>(0, 2, 0).empty());
  EXPECT_THAT(set_->parts()[1]->manifest().task_rows, ElementsAre(3, 2, 0));
  EXPECT_EQ(set_->schema().tasks[0].metadata["num_classes"], 3);
}

TEST_F(GraphWriterTest, NegativeIdBeyondItsCountIsOutOfRange) {
  DatasetBuilder builder;
  builder.Nodes("a", 4)
      .Edges("a", "to", "a", {{0, 0}})
      .TaskSet("train", "a:to:a", true, {0, 1, 2, 3}, 2)
      .TaskArray<int64_t>("negative_dsts", {1, 4}, 0);
  const auto written = TryWrite(builder, Dealt(builder, 2, 1), 2);
  EXPECT_TRUE(absl::IsOutOfRange(written.status())) << written.status();
  EXPECT_THAT(Message(written.status()), AllOf(HasSubstr("row 1"), HasSubstr("4 nodes")));
}

TEST_F(GraphWriterTest, NanFeatureIsRefusedNamingFileRowAndColumn) {
  std::vector<float> features(10 * 3, 1.0F);
  features[7 * 3 + 2] = std::nanf("");
  DatasetBuilder builder;
  builder.Nodes("node", 10).NodeFeature("feat", features, 3).Edges("node", "edge", "node", {});
  const auto written = TryWrite(builder, Dealt(builder, 2, 1), 2);
  EXPECT_TRUE(absl::IsInvalidArgument(written.status())) << written.status();
  EXPECT_THAT(Message(written.status()),
              AllOf(HasSubstr("feat.npy"), HasSubstr("row 7, column 2"), HasSubstr("--allow-nan")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "graph" / "manifest.json"));
}

TEST_F(GraphWriterTest, InfiniteFeatureIsRefusedAsNanIs) {
  std::vector<double> features(10 * 3, 1.0);
  features[4 * 3 + 1] = -kInfinity;
  DatasetBuilder builder;
  builder.Nodes("node", 10).NodeFeature("feat", features, 3).Edges("node", "edge", "node", {});
  const auto written = TryWrite(builder, Dealt(builder, 2, 1), 2);
  EXPECT_TRUE(absl::IsInvalidArgument(written.status())) << written.status();
  EXPECT_THAT(Message(written.status()),
              AllOf(HasSubstr("infinite value at row 4, column 1"), HasSubstr("--allow-nan")));
}

TEST_F(GraphWriterTest, NanEdgeFeatureIsRefusedOnlyWhereItsEdgeStays) {
  DatasetBuilder builder;
  builder.Nodes("node", 3)
      .Edges("node", "edge", "node", {{0, 1}, {0, 1}, {1, 2}})
      .EdgeFeature("weight", std::vector<double>{1, std::nan(""), 3}, 0);
  const auto written = TryWrite(builder, Dealt(builder, 2, 1), 2);
  EXPECT_THAT(Message(written.status()), HasSubstr("row 1, column 0"));
  std::filesystem::remove_all(folder_.path() / "graph");
  Write(builder, Dealt(builder, 2, 1), 2, {.drop_duplicates = true, .allow_nan = false});
}

TEST_F(GraphWriterTest, NanIsTakenWhereItIsAllowed) {
  DatasetBuilder builder;
  builder.Nodes("node", 2).NodeFeature("feat", std::vector<float>{1, std::nanf("")}, 0);
  Write(builder, {{{0, 1}}, {}}, 2, {.drop_duplicates = false, .allow_nan = true});
  EXPECT_TRUE(std::isnan((*set_->parts()[1]->NodeFeature(0, 0).As<float>())[0]));
}

TEST_F(GraphWriterTest, PartWithoutNodesIsWholeToo) {
  DatasetBuilder builder;
  builder.Nodes("node", 2)
      .NodeFeature("feat", std::vector<float>{1, 2, 3, 4}, 2)
      .Edges("node", "edge", "node", {{0, 1}})
      .TaskSet("train", "node", false, {1});
  Write(builder, {{{2, 2}}, {}}, 3);
  EXPECT_EQ(set_->book().NodeRange(0, 1).size(), 0);
  EXPECT_THAT(Edges(0), ElementsAre(Edge{0, 0, 1}));
}

TEST_F(GraphWriterTest, IdentityFollowsTheContents) {
  std::set<std::string> identities;
  for (const float value : {1.0F, 1.0F, 2.0F}) {
    DatasetBuilder builder;
    builder.Nodes("node", 2).NodeFeature("feat", std::vector<float>{1, value}, 0);
    std::filesystem::remove_all(folder_.path() / "graph");
    Write(builder, {{{0, 1}}, {}}, 2);
    identities.insert(written_.manifest.identity);
  }
  EXPECT_EQ(identities.size(), 2U);
}

}  // namespace
}  // namespace halograph

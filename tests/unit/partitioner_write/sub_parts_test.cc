#include "partitioner/levels/sub_parts.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <gmock/gmock.h>

#include "common/base/progress.h"
#include "partitioner/levels/batch_clusters.h"
#include "partitioner/levels/part_graphs.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/stream/edge_pass.h"
#include "tests/support/captured_log.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class SubPartsTest : public testing::Test {
 protected:
  SubPartsTest() {
    Progress::Enable(false);
    options_.parts = 2;
    options_.seed = 7;
    options_.scratch = folder_.path();
  }

  TestFolder folder_;
  MethodOptions options_;
};

// Edges of all parts, under the ids of the whole: (relation, source, destination), sorted.
using Triples = std::vector<std::tuple<int, int64_t, int64_t>>;

// ---- each part as a data set --------------------------------------------------------------

TEST_F(SubPartsTest, PartsHaveTheirOwnEdgesAndRowsUnderIdsOfTheirOwn) {
  DatasetBuilder builder;
  builder.Nodes("a", 40).Nodes("b", 60);
  builder.Edges("a", "to", "b", RandomEdges(40, 60, 300, 1));
  builder.Edges("b", "in", "b", RandomEdges(60, 60, 400, 2));
  builder.TaskSet("train", "b", false, {5, 9, 5, 50, 0});
  builder.TaskSet("test", "a:to:b", true, {1, 2, 3, 4}, 2);
  const Dataset& whole = builder.dataset();
  std::vector<std::vector<uint16_t>> owners(2);
  CounterRng rng(3);
  for (size_t type = 0; type < 2; ++type) {
    for (int64_t id = 0; id < whole.node_types[type].count; ++id) {
      owners[type].push_back(static_cast<uint16_t>(rng.NextBounded(3)));
    }
  }
  auto graphs = PartGraphs::Make(whole, owners, 3);
  ASSERT_TRUE(graphs.ok()) << graphs.status();
  // In groups, as where there are many parts.
  ASSERT_EQ(graphs->Write({0, 2}, folder_.path()), OkStatus());
  ASSERT_EQ(graphs->Write({2, 3}, folder_.path()), OkStatus());
  graphs->Forget();

  Triples expected, found;
  for (int r = 0; r < 2; ++r) {
    const auto source = static_cast<size_t>(r);  // a, then b
    const InputRelation& relation = whole.relations[source];
    ASSERT_EQ(ForEachEdges(relation, "",
                           [&](const EdgeChunk& chunk) {
                             for (size_t i = 0; i < chunk.size(); ++i) {
                               const int64_t u = chunk.sources[i], v = chunk.destinations[i];
                               if (owners[source][u] == owners[1][v])
                                 expected.emplace_back(r, u, v);
                             }
                             return OkStatus();
                           }),
              OkStatus());
  }
  std::vector<std::vector<int64_t>> rows;
  for (int part = 0; part < 3; ++part) {
    std::vector<std::vector<int64_t>> ids(2);  // of the whole, by those of the part
    for (size_t type = 0; type < 2; ++type) {
      for (size_t id = 0; id < owners[type].size(); ++id) {
        if (owners[type][id] == part) ids[type].push_back(static_cast<int64_t>(id));
      }
      EXPECT_EQ(graphs->Nodes(static_cast<int>(type))[part], std::ssize(ids[type]));
    }
    EXPECT_EQ(graphs->NodesOf(part), std::ssize(ids[0]) + std::ssize(ids[1]));
    const auto graph = graphs->Open(part, folder_.path());
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->node_types[1].count, std::ssize(ids[1]));
    for (int r = 0; r < 2; ++r) {
      const auto source = static_cast<size_t>(r);
      EXPECT_EQ(graph->relations[source].triple(), whole.relations[source].triple());
      ASSERT_EQ(ForEachEdges(graph->relations[source], "",
                             [&](const EdgeChunk& chunk) {
                               for (size_t i = 0; i < chunk.size(); ++i) {
                                 found.emplace_back(r, ids[source].at(chunk.sources[i]),
                                                    ids[1].at(chunk.destinations[i]));
                               }
                               return OkStatus();
                             }),
                OkStatus());
    }
    ASSERT_EQ(graph->tasks.size(), 1);
    ASSERT_EQ(graph->tasks[0].sets.size(), 2);
    EXPECT_EQ(graph->tasks[0].sets[1].type, "b") << "rows of pairs are their destinations'";
    rows.emplace_back();
    for (const InputTaskSet& set : graph->tasks[0].sets) {
      const auto seeds = set.arrays[0].array->As<int64_t>();
      ASSERT_EQ(seeds.status(), OkStatus());
      for (const int64_t seed : *seeds) rows.back().push_back(ids[1].at(seed));
    }
  }
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, expected);
  std::vector<std::vector<int64_t>> owned(3);
  for (const int64_t seed : {5, 9, 5, 50, 0, 2, 4}) owned[owners[1][seed]].push_back(seed);
  EXPECT_EQ(rows, owned);
}

// ---- sub-parts ----------------------------------------------------------------------------

// Eight rings of 40 nodes; even ones belong to part 0. Nodes are numbered across the rings, so that
// the order of the input says nothing of them.
constexpr int64_t kRings = 8, kRingNodes = 40;

int64_t Ring(int64_t node) { return node % kRings; }

DatasetBuilder& BuildRings(DatasetBuilder* builder) {
  EdgePairs edges;
  for (int64_t ring = 0; ring < kRings; ++ring) {
    for (int64_t i = 0; i < kRingNodes; ++i) {
      for (int64_t step = 1; step <= 3; ++step) {
        edges.emplace_back(i * kRings + ring, (i + step) % kRingNodes * kRings + ring);
      }
    }
  }
  std::vector<int64_t> train;
  for (int64_t i = 0; i < kRings * kRingNodes; i += 2 * kRings) {
    for (int64_t ring = 0; ring < kRings; ++ring) train.push_back(i + ring);
  }
  return builder->Nodes("node", kRings * kRingNodes)
      .Edges("node", "edge", "node", edges)
      .TaskSet("train", "node", false, train);
}

Assignment EvenAndOddRings() {
  Assignment assignment;
  assignment.owners.resize(1);
  for (int64_t v = 0; v < kRings * kRingNodes; ++v) {
    assignment.owners[0].push_back(static_cast<uint16_t>(Ring(v) % 2));
  }
  return assignment;
}

TEST_F(SubPartsTest, EachMethodKeepsRingsWholeAndTrainRowsEven) {
  DatasetBuilder builder;
  const Dataset& rings = BuildRings(&builder).dataset();
  for (const char* method : {"metis", "lp-metis", "stream-metis"}) {
    SCOPED_TRACE(method);
    Assignment assignment = EvenAndOddRings();
    ASSERT_EQ(AddSubParts(rings, method, options_, 2, &assignment), OkStatus());
    EXPECT_EQ(assignment.num_sub_parts, 2);
    EXPECT_EQ(assignment.owners, EvenAndOddRings().owners);
    std::set<std::pair<int64_t, int>> places;  // of a ring
    std::vector<int64_t> train(4);             // rows by part and sub-part
    for (int64_t v = 0; v < kRings * kRingNodes; ++v) {
      const int sub_part = assignment.sub_parts[0][static_cast<size_t>(v)];
      places.emplace(Ring(v), sub_part);
      if (v / kRings % 2 == 0) ++train[static_cast<size_t>(Ring(v) % 2 * 2 + sub_part)];
    }
    EXPECT_EQ(places.size(), kRings) << "no ring is cut";
    EXPECT_THAT(train, ElementsAre(40, 40, 40, 40));
    const Json& report = assignment.report.at("sub_parts");
    EXPECT_EQ(report.at("method"), method);
    EXPECT_EQ(report.at("nodes"), (Json{{"node", {{80, 80}, {80, 80}}}}));
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "method"));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "parts"));

    Assignment again = EvenAndOddRings();
    ASSERT_EQ(AddSubParts(rings, method, options_, 2, &again), OkStatus());
    EXPECT_EQ(again.sub_parts, assignment.sub_parts);
  }
}

TEST_F(SubPartsTest, OneTrainerAPartChangesNothing) {
  DatasetBuilder builder;
  Assignment assignment = EvenAndOddRings();
  ASSERT_EQ(AddSubParts(BuildRings(&builder).dataset(), "metis", options_, 1, &assignment),
            OkStatus());
  EXPECT_TRUE(assignment.sub_parts.empty());
  EXPECT_TRUE(assignment.report.empty());
}

TEST_F(SubPartsTest, MoreTrainersThanNodesOfAPartAreRefused) {
  DatasetBuilder builder;
  builder.Nodes("node", 10).Edges("node", "edge", "node", RandomEdges(10, 10, 30, 1));
  Assignment assignment;
  assignment.owners = {{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}};
  ASSERT_EQ(AddSubParts(builder.dataset(), "metis", options_, 3, &assignment), OkStatus());
  const Status refused = AddSubParts(builder.dataset(), "metis", options_, 4, &assignment);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(Message(refused),
              AllOf(HasSubstr("--trainers-per-part 4"), HasSubstr("part 1 has only 3 nodes")));
}

TEST_F(SubPartsTest, AutoDividesByTheMethodThatItChose) {
  DatasetBuilder builder;
  Assignment assignment = EvenAndOddRings();
  assignment.report["method"] = "stream-metis";
  ASSERT_EQ(AddSubParts(BuildRings(&builder).dataset(), "auto", options_, 2, &assignment),
            OkStatus());
  EXPECT_EQ(assignment.report["sub_parts"]["method"], "stream-metis");
}

TEST_F(SubPartsTest, EveryMethodHasOneOrSaysThatItsPartsHaveNoEdges) {
  for (const std::string& method : MethodNames()) {
    const auto by = MethodOfSubParts(method);
    if (method == "random") {
      EXPECT_TRUE(absl::IsInvalidArgument(by.status())) << by.status();
      EXPECT_THAT(Message(by.status()), AllOf(HasSubstr("--trainers-per-part"),
                                              HasSubstr("method random"), HasSubstr("metis")));
      continue;
    }
    ASSERT_TRUE(by.ok()) << by.status();
    EXPECT_EQ(*by, method.ends_with("metis") ? method : "stream-metis");
  }
  EXPECT_EQ(*MethodOfSubParts("owners"), "auto");
}

TEST_F(SubPartsTest, ThePlanIsOfAPartAndCountsWhatIsHeldBesideIt) {
  GraphCounts counts;
  counts.nodes = {1'000'000};
  counts.relations = {{.source_type = 0, .destination_type = 0, .edges = 20'000'000}};
  options_.parts = 10;
  const MemoryPlan plan = PlanSubParts(counts, "metis", options_, 4);
  EXPECT_EQ(plan.phases.front().name, "edges within parts");
  EXPECT_GT(plan.phases.front().bytes(), 8 * 1'000'000);
  const auto metis = MakeMethod("metis");
  ASSERT_TRUE(metis.ok());
  const int64_t whole = (*metis)->PlanMemory(counts, options_).peak_bytes();
  EXPECT_LT(plan.peak_bytes(), whole / 5);
}

TEST_F(SubPartsTest, APartThatTakesMoreMemoryThanThereIsIsRefused) {
  DatasetBuilder builder;
  Assignment assignment = EvenAndOddRings();
  options_.memory = kProgramBytes;
  const Status refused =
      AddSubParts(BuildRings(&builder).dataset(), "metis", options_, 2, &assignment);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(Message(refused), testing::StartsWith("part 0 of the second level: --memory "));
  // What is advised counts what is held beside the part.
  EXPECT_THAT(Message(refused), testing::HasSubstr("owners, sub-parts and keys"));
}

// ---- clusters of the batches --------------------------------------------------------------

// Which rings each cluster of each part has nodes of: [part][cluster].
std::vector<std::vector<std::set<int64_t>>> RingsOf(const Assignment& assignment) {
  std::vector<std::vector<std::set<int64_t>>> rings;
  for (const int clusters : assignment.num_clusters) rings.emplace_back(clusters);
  for (int64_t v = 0; v < kRings * kRingNodes; ++v) {
    const auto node = static_cast<size_t>(v);
    rings[assignment.owners[0][node]].at(assignment.clusters[0][node]).insert(Ring(v));
  }
  return rings;
}

TEST_F(SubPartsTest, ClustersKeepRingsWholeAndAreTheSameAgain) {
  DatasetBuilder builder;
  const Dataset& rings = BuildRings(&builder).dataset();
  for (const int clusters : {1, 2, 4}) {
    SCOPED_TRACE(clusters);
    Assignment assignment = EvenAndOddRings();
    ASSERT_EQ(AddBatchClusters(rings, options_, clusters, &assignment), OkStatus());
    EXPECT_THAT(assignment.num_clusters, ElementsAre(clusters, clusters));
    for (const auto& part : RingsOf(assignment)) {
      for (const auto& cluster : part) EXPECT_EQ(std::ssize(cluster), 4 / clusters);
    }
    const int64_t nodes = 4 / clusters * kRingNodes;
    EXPECT_EQ(assignment.report.at("clusters"),
              (Json{{"parts", {clusters, clusters}},
                    {"nodes", {{"least", nodes}, {"median", nodes}, {"most", nodes}}}}));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "parts"));

    Assignment again = EvenAndOddRings();
    ASSERT_EQ(AddBatchClusters(rings, options_, clusters, &again), OkStatus());
    EXPECT_EQ(again.clusters, assignment.clusters);
  }
}

TEST_F(SubPartsTest, ClustersLieInSubPartsWhichHaveTheirShare) {
  DatasetBuilder builder;
  const Dataset& rings = BuildRings(&builder).dataset();
  // In each part: three rings, and one.
  Assignment assignment = EvenAndOddRings();
  std::vector<uint16_t>& sub_parts = assignment.sub_parts.emplace_back();
  for (int64_t v = 0; v < kRings * kRingNodes; ++v) sub_parts.push_back(Ring(v) / 2 == 3 ? 0 : 1);
  const std::vector<uint16_t> sub_part_of = sub_parts;
  assignment.num_sub_parts = 2;
  ASSERT_EQ(AddBatchClusters(rings, options_, 4, &assignment), OkStatus());
  EXPECT_TRUE(assignment.sub_parts.empty());
  EXPECT_THAT(assignment.num_clusters, ElementsAre(4, 4));
  for (size_t v = 0; v < sub_part_of.size(); ++v) {
    EXPECT_EQ(assignment.clusters[0][v] > 0, sub_part_of[v] == 1) << v;
  }
  for (const auto& part : RingsOf(assignment)) {
    for (const auto& cluster : part) EXPECT_EQ(cluster.size(), 1U);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "sub-parts"));
}

TEST_F(SubPartsTest, SharesOfClustersGoByNodesAndAreNoneTooSmall) {
  const auto share = [](std::vector<int64_t> nodes, int clusters) {
    return ShareClusters(nodes, clusters);
  };
  EXPECT_THAT(share({100}, 5), ElementsAre(5));
  EXPECT_THAT(share({100}, 1000), ElementsAre(12)) << "of 8 nodes at least";
  EXPECT_THAT(share({7}, 1000), ElementsAre(1));
  EXPECT_THAT(share({0}, 5), ElementsAre(0));
  EXPECT_THAT(share({300, 0, 100}, 8), ElementsAre(6, 0, 2));
  EXPECT_THAT(share({100, 100, 100}, 7), ElementsAre(3, 2, 2)) << "of equals the first";
  EXPECT_THAT(share({1000, 5}, 2), ElementsAre(1, 1));
  EXPECT_THAT(share({20, 1000}, 50), ElementsAre(1, 49));
  EXPECT_THAT(share({20, 40}, 50), ElementsAre(2, 5));
}

// Nine nodes of no edge, one of none at all, and none.
TEST_F(SubPartsTest, PartsWithoutEdgesOrNodesHaveRunsOrNoClusters) {
  DatasetBuilder builder;
  builder.Nodes("node", 34).Edges("node", "edge", "node", RandomEdges(1, 1, 3, 1));
  Assignment assignment;
  assignment.owners.emplace_back(34, uint16_t{0});
  assignment.owners[0][5] = 2;
  options_.parts = 3;
  CapturedLog log;
  ASSERT_EQ(AddBatchClusters(builder.dataset(), options_, 4, &assignment), OkStatus());
  EXPECT_THAT(assignment.num_clusters, ElementsAre(4, 0, 1));
  std::vector<int64_t> sizes(4, 0);
  for (size_t v = 0; v < 34; ++v) {
    if (v != 5) ++sizes[assignment.clusters[0][v]];
  }
  EXPECT_THAT(sizes, ElementsAre(9, 8, 8, 8));
  EXPECT_THAT(log.End(), HasSubstr("--batch-clusters 4: 2 of 3 parts have fewer, the smallest 0"));
}

TEST_F(SubPartsTest, ClustersOfSeveralNodeTypesAreRefusedByName) {
  DatasetBuilder builder;
  builder.Nodes("author", 10).Nodes("paper", 10);
  Assignment assignment;
  assignment.owners = {std::vector<uint16_t>(10, 0), std::vector<uint16_t>(10, 0)};
  const Status refused = AddBatchClusters(builder.dataset(), options_, 2, &assignment);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(Message(refused), AllOf(HasSubstr("--batch-clusters"), HasSubstr("2 node types"),
                                      HasSubstr("author, paper"), HasSubstr("leave it out")));
}

TEST_F(SubPartsTest, FewerClustersThanSubPartsAreRefused) {
  EXPECT_EQ(CheckBatchClusters(4, 4), OkStatus());
  const Status refused = CheckBatchClusters(3, 4);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(Message(refused), AllOf(HasSubstr("--batch-clusters 3"), HasSubstr("at least 4")));
}

TEST_F(SubPartsTest, ThePlanOfClustersIsOfMetisOnAPartOrSubPart) {
  GraphCounts counts;
  counts.nodes = {1'000'000};
  counts.relations = {{.source_type = 0, .destination_type = 0, .edges = 20'000'000}};
  options_.parts = 10;
  const auto metis = MakeMethod("metis");
  ASSERT_TRUE(metis.ok());
  const int64_t whole = (*metis)->PlanMemory(counts, options_).peak_bytes();
  const MemoryPlan plan = PlanBatchClusters(counts, options_, 1);
  EXPECT_GT(plan.phases.front().bytes(), 8 * 1'000'000);
  EXPECT_GT(plan.phases.back().bytes(), 2'000'000 * 2 * 4) << "the neighbours of a part";
  EXPECT_LT(plan.peak_bytes(), whole / 5);
  const MemoryPlan divided = PlanBatchClusters(counts, options_, 4);
  EXPECT_LT(divided.phases.back().bytes(), plan.phases.back().bytes() / 2);
}

TEST_F(SubPartsTest, APartWhoseClustersTakeMoreMemoryThanThereIsIsRefused) {
  DatasetBuilder builder;
  const Dataset& rings = BuildRings(&builder).dataset();
  Assignment assignment = EvenAndOddRings();
  options_.memory = kProgramBytes;
  const Status refused = AddBatchClusters(rings, options_, 2, &assignment);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(Message(refused), testing::StartsWith("clusters of part 0, by METIS: --memory "));
}

}  // namespace
}  // namespace halograph

// The edge partitioners as partition methods: bounds, rounds of counting, options, memory.
#include "partitioner/methods/literature/edge_method.h"

#include <algorithm>
#include <functional>
#include <ostream>

#include <gmock/gmock.h>

#include "partitioner/methods/literature/spring.h"
#include "partitioner/methods/literature/stream_rules.h"
#include "partitioner/methods/literature/two_phase.h"
#include "tests/unit/partitioner_methods_edge/placed_edges.h"

namespace halograph {
namespace {

using testing::HasSubstr;

struct MethodCase {
  const char* name;
  std::unique_ptr<PartitionMethod> (*make)();
};

void PrintTo(const MethodCase& method, std::ostream* out) { *out << method.name; }

template <typename PartitionerT>
std::unique_ptr<PartitionMethod> Make() {
  return std::make_unique<EdgeMethod<PartitionerT>>();
}

MethodOptions Options(int parts, OwnerRule owner = OwnerRule::kMajority) {
  MethodOptions options;
  options.parts = parts;
  options.seed = 1;
  options.edge.owner = owner;
  return options;
}

class EdgeMethods : public testing::TestWithParam<MethodCase> {
 protected:
  StatusOr<Assignment> Assign(const DatasetBuilder& builder, const MethodOptions& options) {
    return GetParam().make()->Assign(builder.dataset(), options);
  }
  // Largest over mean of nodes, and of in-edges.
  std::pair<double, double> Balance(const EdgePairs& edges, const std::vector<uint16_t>& owners,
                                    int parts) {
    std::vector<double> nodes(static_cast<size_t>(parts), 0), in_edges(nodes);
    for (const uint16_t owner : owners) ++nodes[owner];
    for (const auto& [u, v] : edges) ++in_edges[owners[v]];
    return {*std::max_element(nodes.begin(), nodes.end()) * parts / owners.size(),
            *std::max_element(in_edges.begin(), in_edges.end()) * parts / edges.size()};
  }
};

INSTANTIATE_TEST_SUITE_P(All, EdgeMethods,
                         testing::Values(MethodCase{"dbh", Make<Dbh>},
                                         MethodCase{"greedy", Make<Greedy>},
                                         MethodCase{"hdrf", Make<Hdrf>},
                                         MethodCase{"two_phase", Make<TwoPhase>},
                                         MethodCase{"spring", Make<Spring>}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(EdgeMethods, NodesAndEdgesOfOwnersStayWithinTheirBounds) {
  const EdgePairs edges = SkewedEdges(4000, 30000, 1);
  DatasetBuilder builder;
  builder.Nodes("node", 4000).Edges("node", "edge", "node", edges);
  for (const OwnerRule rule : {OwnerRule::kMajority, OwnerRule::kRandom}) {
    for (const int parts : {2, 8, 70}) {
      const auto assignment = Assign(builder, Options(parts, rule));
      ASSERT_TRUE(assignment.ok()) << assignment.status();
      const auto [nodes, in_edges] = Balance(edges, assignment->owners[0], parts);
      // 57 nodes are the share of 70 partitions, so rounding up takes a percent more.
      EXPECT_LE(nodes, parts == 70 ? 1.04 : 1.03) << parts;
      EXPECT_LE(in_edges, 1.12) << parts;
    }
  }
}

TEST_P(EdgeMethods, CountingInRoundsKeepsPlacementsAndBounds) {
  const EdgePairs edges = SkewedEdges(2000, 12000, 2);
  DatasetBuilder builder;
  builder.Nodes("node", 2000).Edges("node", "edge", "node", edges);
  const auto whole = Assign(builder, Options(100));
  MethodOptions little = Options(100);
  little.memory = 1 << 20;
  const auto rounds = Assign(builder, little);
  ASSERT_TRUE(whole.ok() && rounds.ok()) << whole.status() << rounds.status();
  EXPECT_EQ(rounds->report["edge_partition"], whole->report["edge_partition"]);
  EXPECT_EQ(rounds->report["placing_passes"],
            kMaxCountingRounds * whole->report["placing_passes"].get<int64_t>());
  const auto [nodes, in_edges] = Balance(edges, rounds->owners[0], 100);
  EXPECT_LE(nodes, 1.05);     // 21 of 20
  EXPECT_LE(in_edges, 1.25);  // hubs of later ranges find less room
}

TEST_P(EdgeMethods, PlanShrinksWithTheMemoryThatThereIs) {
  GraphCounts counts;
  counts.nodes = {1000000};
  counts.relations = {{0, 0, 8000000}};
  const auto method = GetParam().make();
  const int64_t whole = method->PlanMemory(counts, Options(512)).peak_bytes();
  EXPECT_GE(whole, 512000000);
  MethodOptions bounded = Options(512);
  bounded.memory = 300000000;
  const MemoryPlan plan = method->PlanMemory(counts, bounded);
  EXPECT_TRUE(CheckMemory(plan, bounded.memory).ok()) << plan.ToText();
  bounded.memory = 1 << 20;
  EXPECT_TRUE(
      absl::IsResourceExhausted(CheckMemory(method->PlanMemory(counts, bounded), bounded.memory)));
  // By chance there is nothing to count.
  EXPECT_LT(method->PlanMemory(counts, Options(512, OwnerRule::kRandom)).peak_bytes(), 130000000);
}

TEST_P(EdgeMethods, AGiantHubBreaksNoBoundOnNodes) {
  EdgePairs edges;
  for (int64_t i = 1; i < 1000; ++i) {
    edges.emplace_back(i, 0);
    if (i % 3 == 0) edges.emplace_back(i, i - 1);
  }
  DatasetBuilder builder;
  builder.Nodes("node", 1000).Edges("node", "edge", "node", edges);
  for (const OwnerRule rule : {OwnerRule::kMajority, OwnerRule::kRandom}) {
    const auto assignment = Assign(builder, Options(4, rule));
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    EXPECT_LE(Balance(edges, assignment->owners[0], 4).first, 1.03);
  }
}

TEST_P(EdgeMethods, SelfLoopsAndParallelEdgesOnly) {
  EdgePairs edges;
  for (int64_t i = 0; i < 200; ++i) edges.emplace_back(i % 20, i % 20);
  for (int64_t i = 0; i < 200; ++i) edges.emplace_back(20, 21);
  DatasetBuilder builder;
  builder.Nodes("node", 30).Edges("node", "edge", "node", edges);
  for (const OwnerRule rule : {OwnerRule::kMajority, OwnerRule::kRandom}) {
    const auto assignment = Assign(builder, Options(3, rule));
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    EXPECT_NEAR(Balance(edges, assignment->owners[0], 3).first, 1.0, 0.05);
  }
}

TEST_P(EdgeMethods, RingsInOrderAreCutLessThanByChance) {
  const EdgePairs edges = RingsOfNodes(40, 50);
  DatasetBuilder builder;
  builder.Nodes("node", 2000).Edges("node", "edge", "node", edges);
  const auto assignment = Assign(builder, Options(4));
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  const std::vector<uint16_t>& owners = assignment->owners[0];
  const auto cut = std::count_if(edges.begin(), edges.end(), [&](const auto& edge) {
    return owners[edge.first] != owners[edge.second];
  });
  // Degrees are all alike, so that dbh is chance; the others see the rings.
  const double share = static_cast<double>(cut) / static_cast<double>(edges.size());
  EXPECT_LT(share, std::string(GetParam().name) == "dbh" ? 0.76 : 0.40);
}

TEST_P(EdgeMethods, OptionsOutOfRangeAreInvalidAndNamed) {
  DatasetBuilder builder;
  builder.Nodes("node", 30).Edges("node", "edge", "node", RingsOfNodes(3, 10));
  const auto expect_invalid = [&](const std::function<void(EdgePartitionOptions*)>& damage,
                                  const char* name) {
    MethodOptions options = Options(2);
    damage(&options.edge);
    const Status status = Assign(builder, options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr(name));
  };
  expect_invalid([](EdgePartitionOptions* o) { o->hdrf_lambda = 0; }, "lambda 0");
  expect_invalid([](EdgePartitionOptions* o) { o->volume_factor = -1; }, "volume factor -1");
  expect_invalid([](EdgePartitionOptions* o) { o->edge_imbalance = 0.9; }, "imbalance 0.9");
}

TEST_P(EdgeMethods, ReportHoldsNothingThatDiffersFromRunToRun) {
  DatasetBuilder builder;
  builder.Nodes("node", 300).Edges("node", "edge", "node", SkewedEdges(300, 2000, 4));
  const auto first = Assign(builder, Options(4));
  const auto second = Assign(builder, Options(4));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->report, second->report);
  EXPECT_EQ(first->report["owner"], "majority");
  EXPECT_GE(first->report["edge_partition"]["replication"].get<double>(), 1.0);
  EXPECT_LE(first->report["edge_partition"]["replication"].get<double>(), 4.0);
}

}  // namespace
}  // namespace halograph

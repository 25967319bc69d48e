#include "common/state/placement.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/chi_square.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two parts: 3 + 2 nodes, 1 + 5 edges.
struct Graph {
  Schema schema;
  PartitionBook book;

  static Graph OfParts(const std::vector<int64_t>& nodes, const std::vector<int64_t>& edges) {
    Graph graph;
    graph.schema.graph_name = "g";
    graph.schema.node_types = {{.name = "user", .count = nodes.back(), .features = {}}};
    graph.schema.relations = {{.source = "user",
                               .name = "knows",
                               .destination = "user",
                               .count = edges.back(),
                               .features = {}}};
    auto book = PartitionBook::Create(graph.schema, {nodes}, {edges});
    EXPECT_TRUE(book.ok()) << book.status();
    graph.book = std::move(book).value();
    return graph;
  }
};

StatusOr<std::unique_ptr<RowPlacement>> Make(Placement placement, const std::string& type,
                                             int64_t rows, const Graph& graph) {
  MutableTensorSpec spec;
  spec.ref = {.edge = placement == Placement::kEdges, .type = type, .name = "emb"};
  spec.placement = placement;
  spec.rows = rows;
  return RowPlacement::Make(spec, graph.schema, graph.book);
}

TEST(RowPlacementTest, NodesAndEdgesLieWhereTheirBookSays) {
  const Graph graph = Graph::OfParts({0, 3, 5}, {0, 1, 6});
  const auto nodes = Make(Placement::kNodes, "user", 0, graph);
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_THAT((*nodes)->boundaries(), ElementsAre(0, 3, 5));
  EXPECT_EQ((*nodes)->rows(), 5);
  EXPECT_EQ((*nodes)->Position(4), 4);
  EXPECT_EQ((*nodes)->Id(4), 4);
  EXPECT_EQ((*nodes)->Owner(2), 0);
  EXPECT_EQ((*nodes)->Owner(3), 1);
  const auto edges = Make(Placement::kEdges, "user:knows:user", 0, graph);
  ASSERT_TRUE(edges.ok()) << edges.status();
  EXPECT_THAT((*edges)->boundaries(), ElementsAre(0, 1, 6));
  EXPECT_EQ((*edges)->Owner(3), 1);
}

TEST(RowPlacementTest, UnknownTypesAreNotFoundAndNameWhatExists) {
  const Graph graph = Graph::OfParts({0, 3, 5}, {0, 1, 6});
  const auto nodes = Make(Placement::kNodes, "item", 0, graph);
  EXPECT_EQ(nodes.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(nodes.status()), HasSubstr("user"));
  const auto edges = Make(Placement::kEdges, "user", 0, graph);
  EXPECT_EQ(edges.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(edges.status()), HasSubstr("user:knows:user"));
}

TEST(RowPlacementTest, PlainRowsAreSplitEvenlyWithoutOverflow) {
  const Graph graph = Graph::OfParts({0, 1, 2, 3, 4}, {0, 0, 0, 0, 0});
  const auto range = Make(Placement::kRange, "", 10, graph);
  ASSERT_TRUE(range.ok());
  EXPECT_THAT((*range)->boundaries(), ElementsAre(0, 2, 5, 7, 10));
  const auto few = Make(Placement::kHash, "", 2, graph);
  ASSERT_TRUE(few.ok());
  EXPECT_THAT((*few)->boundaries(), ElementsAre(0, 0, 1, 1, 2));
  const auto most = Make(Placement::kRange, "", kMaxTensorRows, graph);
  ASSERT_TRUE(most.ok());
  EXPECT_EQ((*most)->boundaries()[1], kMaxTensorRows / 4);
}

void CheckBijection(int64_t rows, const Graph& graph) {
  const auto hash = Make(Placement::kHash, "", rows, graph);
  ASSERT_TRUE(hash.ok());
  std::vector<bool> taken(static_cast<size_t>(rows));
  for (int64_t id = 0; id < rows; ++id) {
    const int64_t position = (*hash)->Position(id);
    ASSERT_TRUE(position >= 0 && position < rows) << id << " of " << rows;
    ASSERT_FALSE(taken[static_cast<size_t>(position)]) << id << " of " << rows;
    taken[static_cast<size_t>(position)] = true;
    ASSERT_EQ((*hash)->Id(position), id) << rows;
  }
}

TEST(RowPlacementTest, HashIsABijectionOfAnyNumberOfRows) {
  const Graph graph = Graph::OfParts({0, 3, 5}, {0, 1, 6});
  for (int64_t rows = 1; rows <= 200; ++rows) CheckBijection(rows, graph);
  for (const int64_t rows : {255, 256, 257, 4095, 4097, 30'011}) CheckBijection(rows, graph);
}

TEST(RowPlacementTest, HashFindsBackInTheLargestTensor) {
  const Graph graph = Graph::OfParts({0, 3, 5}, {0, 1, 6});
  const auto hash = Make(Placement::kHash, "", kMaxTensorRows - 12'345, graph);
  ASSERT_TRUE(hash.ok());
  for (int64_t id = 0; id < (*hash)->rows(); id += (*hash)->rows() / 1000) {
    const int64_t position = (*hash)->Position(id);
    ASSERT_TRUE(position >= 0 && position < (*hash)->rows());
    ASSERT_EQ((*hash)->Id(position), id);
  }
}

// Neighbouring ids, and ids a power of two apart, as they come from real tables.
TEST(RowPlacementTest, HashSpreadsIdsEvenlyOverParts) {
  constexpr int64_t kRows = 1'000'003;
  constexpr int kParts = 16;
  std::vector<int64_t> ends;
  for (int p = 0; p <= kParts; ++p) ends.push_back(p);
  const Graph graph = Graph::OfParts(ends, std::vector<int64_t>(kParts + 1));
  const auto hash = Make(Placement::kHash, "", kRows, graph);
  ASSERT_TRUE(hash.ok());
  for (const int64_t stride : {1, 16, 64}) {
    constexpr double kIds = 10'000;
    std::vector<double> counts(kParts);
    for (int64_t i = 0; i < static_cast<int64_t>(kIds); ++i) {
      ++counts[static_cast<size_t>((*hash)->Owner(i * stride))];
    }
    double chi_square = 0;
    for (const double count : counts) {
      chi_square += (count - kIds / kParts) * (count - kIds / kParts) / (kIds / kParts);
    }
    EXPECT_LT(chi_square, ChiSquareLimit(kParts - 1)) << "stride " << stride;
  }
}

// Stores on disk have rows at these positions.
TEST(RowPlacementTest, HashIsPinned) {
  const Graph graph = Graph::OfParts({0, 3, 5}, {0, 1, 6});
  const auto hash = Make(Placement::kHash, "", 1000, graph);
  ASSERT_TRUE(hash.ok());
  std::vector<int64_t> positions;
  for (int64_t id = 0; id < 6; ++id) positions.push_back((*hash)->Position(id));
  EXPECT_THAT(positions, ElementsAre(731, 709, 797, 251, 901, 775));
}

}  // namespace
}  // namespace halograph

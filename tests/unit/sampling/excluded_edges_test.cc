#include "common/sampling/kernel/excluded_edges.h"

#include <gtest/gtest.h>

namespace halograph {
namespace {

using Ids = std::vector<int64_t>;

// A list of nodes 0, 10, 20, .. of a type of 1,000.
class ExcludedEdgesTest : public testing::TestWithParam<int64_t> {
 protected:
  ExcludedEdgesTest() {
    std::vector<int32_t> positions;
    for (int64_t v = 0; v < 1000; v += 10) EXPECT_TRUE(nodes_.Compact(Ids{v}, &positions));
  }

  std::vector<std::pair<int64_t, Ids>> Find(const Ids& sources, const Ids& destinations,
                                            int64_t count) const {
    const ExcludedEdges excluded({.sources = sources, .destinations = destinations});
    std::vector<ExcludedRow> rows = {{.destination = 7, .sources = {}}};
    excluded.FindIn(nodes_, count, &rows);
    std::vector<std::pair<int64_t, Ids>> found;
    for (const ExcludedRow& row : rows) {
      found.emplace_back(row.destination, Ids(row.sources.begin(), row.sources.end()));
    }
    return found;
  }

  FusedNodes nodes_{1000, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Maps, ExcludedEdgesTest, testing::Values(kMaxTableNodes, 0));

TEST_P(ExcludedEdgesTest, RowsAscendByPositionAndSourcesById) {
  const std::vector<std::pair<int64_t, Ids>> expected = {{2, {3}}, {9, {1, 5, 5}}, {99, {0}}};
  EXPECT_EQ(Find({5, 0, 3, 5, 1}, {90, 990, 20, 90, 90}, 100), expected);
}

TEST_P(ExcludedEdgesTest, DestinationsOutsideTheListOrBehindItsFirstAreNotFound) {
  EXPECT_TRUE(Find({1, 1}, {5, 999}, 100).empty());
  EXPECT_TRUE(Find({1}, {500}, 50).empty());
  EXPECT_EQ(Find({1}, {500}, 51).size(), 1U);
  EXPECT_TRUE(Find({}, {}, 100).empty());
}

TEST_P(ExcludedEdgesTest, FindingAppendsNothing) {
  std::vector<int32_t> positions(3);
  nodes_.Find(Ids{990, 1, 0}, positions.data());
  EXPECT_EQ(positions, (std::vector<int32_t>{99, -1, 0}));
  EXPECT_EQ(nodes_.size, 100);
  nodes_.Restart();
  nodes_.Find(Ids{990, 1, 0}, positions.data());
  EXPECT_EQ(positions, (std::vector<int32_t>{-1, -1, -1}));
}

template <typename IdT>
class RemoveExcludedTest : public testing::Test {};
using Widths = testing::Types<uint32_t, int64_t>;
TYPED_TEST_SUITE(RemoveExcludedTest, Widths);

TYPED_TEST(RemoveExcludedTest, RemovesAllParallelEdgesAndKeepsTheOrderOfTheRest) {
  const Ids left_out = {1, 4};
  const std::vector<ExcludedRow> rows = {{.destination = 3, .sources = left_out},
                                         {.destination = 11, .sources = left_out},
                                         {.destination = 13, .sources = left_out},
                                         {.destination = 20, .sources = left_out}};
  // Destinations 10 .. 14: the rows of 3 and 20 are of other chunks.
  std::vector<int64_t> ends = {2, 7, 7, 9, 10};
  std::vector<TypeParam> sources = {1, 4, 4, 2, 1, 4, 9, 4, 4, 4};
  Ids edge_ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<float> weights = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  RemoveExcluded(rows, DrawnEdges<TypeParam>{.first = 10,
                                             .ends = ends,
                                             .sources = &sources,
                                             .edge_ids = &edge_ids,
                                             .weights = &weights});
  EXPECT_EQ(ends, (std::vector<int64_t>{2, 4, 4, 4, 5}));
  EXPECT_EQ(sources, (std::vector<TypeParam>{1, 4, 2, 9, 4}));
  EXPECT_EQ(edge_ids, (Ids{0, 1, 3, 6, 9}));
  EXPECT_EQ(weights, (std::vector<float>{0, 1, 3, 6, 9}));
}

TYPED_TEST(RemoveExcludedTest, ColumnsThatAreEmptyStayEmpty) {
  const Ids left_out = {7};
  const std::vector<ExcludedRow> rows = {{.destination = 0, .sources = left_out}};
  std::vector<int64_t> ends = {3};
  std::vector<TypeParam> sources = {7, 7, 7};
  Ids edge_ids;
  std::vector<float> weights;
  RemoveExcluded(rows, DrawnEdges<TypeParam>{.first = 0,
                                             .ends = ends,
                                             .sources = &sources,
                                             .edge_ids = &edge_ids,
                                             .weights = &weights});
  EXPECT_EQ(ends, (std::vector<int64_t>{0}));
  EXPECT_TRUE(sources.empty());
  EXPECT_TRUE(edge_ids.empty());
  EXPECT_TRUE(weights.empty());
}

}  // namespace
}  // namespace halograph

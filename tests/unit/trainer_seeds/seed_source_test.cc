#include "trainer/seeds/seed_source.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

template <typename T>
LabelRows Labels(DType dtype, int64_t dim, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {.dtype = dtype, .dim = dim, .data = {bytes.begin(), bytes.end()}};
}

TEST(NodeSeedsTest, RowsComeInTheOrderAskedForWithTheirLabels) {
  const NodeSeeds seeds(2, {3, 5, 5, 9}, Labels<int64_t>(DType::kInt64, 1, {30, 50, 51, 90}));
  StepSeeds step;
  const std::vector<int64_t> rows = {3, 0, 2, 0};
  ASSERT_TRUE(seeds.Collect(rows, 1, &step).ok());
  ASSERT_EQ(step.seeds.size(), 1U);
  EXPECT_EQ(step.seeds.front().type, 2);
  EXPECT_THAT(step.seeds.front().ids, testing::ElementsAre(9, 3, 5, 3));
  EXPECT_THAT(step.labels.As<int64_t>(), testing::ElementsAre(90, 30, 51, 30));
}

TEST(NodeSeedsTest, RowsAreCountedOverAllRanksAndFoundFromTheFirstHere) {
  const NodeSeeds seeds(2, {5, 9}, Labels<int64_t>(DType::kInt64, 1, {51, 90}), {0, 2, 6}, 3);
  EXPECT_EQ(seeds.rows(), 6);
  StepSeeds step;
  const std::vector<int64_t> rows = {4, 3};
  ASSERT_TRUE(seeds.Collect(rows, 1, &step).ok());
  EXPECT_THAT(step.seeds.front().ids, testing::ElementsAre(9, 5));
  EXPECT_THAT(step.labels.As<int64_t>(), testing::ElementsAre(90, 51));
}

TEST(NodeSeedsTest, LabelsMayHaveSeveralColumnsOfAnyType) {
  const NodeSeeds seeds(2, {1, 2}, Labels<float>(DType::kFloat32, 3, {0, 1, 2, 10, 11, 12}));
  StepSeeds step;
  const std::vector<int64_t> rows = {1};
  ASSERT_TRUE(seeds.Collect(rows, 1, &step).ok());
  EXPECT_EQ(step.labels.rows(), 1);
  EXPECT_THAT(step.labels.As<float>(), testing::ElementsAre(10, 11, 12));
}

TEST(NodeSeedsTest, SeedsWithoutLabelsHaveNone) {
  const NodeSeeds seeds(2, {1, 2});
  StepSeeds step;
  step.labels.data.resize(8);
  const std::vector<int64_t> rows = {1, 0};
  ASSERT_TRUE(seeds.Collect(rows, 1, &step).ok());
  EXPECT_THAT(step.seeds.front().ids, testing::ElementsAre(2, 1));
  EXPECT_EQ(step.labels.rows(), 0);
}

TEST(NodeSeedsTest, SeveralTypesHaveAListEachAndLabelsFollowTheLists) {
  const NodeSeeds seeds({1, 4, 4, 1}, {7, 2, 3, 9},
                        Labels<int64_t>(DType::kInt64, 1, {70, 20, 30, 90}), {0, 2, 6}, 2);
  StepSeeds step;
  ASSERT_TRUE(seeds.Collect(std::vector<int64_t>{4, 5, 2, 3}, 1, &step).ok());
  ASSERT_EQ(step.seeds.size(), 2U);
  EXPECT_EQ(step.seeds[0].type, 1);
  EXPECT_THAT(step.seeds[0].ids, testing::ElementsAre(9, 7));
  EXPECT_EQ(step.seeds[1].type, 4);
  EXPECT_THAT(step.seeds[1].ids, testing::ElementsAre(3, 2));
  EXPECT_THAT(step.labels.As<int64_t>(), testing::ElementsAre(90, 70, 30, 20));
  ASSERT_TRUE(seeds.Collect(std::vector<int64_t>{3}, 1, &step).ok());
  ASSERT_EQ(step.seeds.size(), 1U) << "only types that some row is of";
  EXPECT_EQ(step.seeds[0].type, 4);
}

TEST(NodeRangeTest, EveryNodeIsARowOfItsPart) {
  const std::vector<int64_t> boundaries = {0, 4, 9};
  const NodeRange nodes(1, boundaries);
  EXPECT_EQ(nodes.rows(), 9);
  EXPECT_THAT(nodes.part_rows(), testing::ElementsAre(0, 4, 9));
  StepSeeds step;
  ASSERT_TRUE(nodes.Collect(std::vector<int64_t>{5, 2}, 0, &step).ok());
  ASSERT_EQ(step.seeds.size(), 1U);
  EXPECT_EQ(step.seeds.front().type, 1);
  EXPECT_THAT(step.seeds.front().ids, testing::ElementsAre(5, 2));
  EXPECT_TRUE(step.labels.data.empty());
  ASSERT_TRUE(nodes.Collect({}, 0, &step).ok());
  EXPECT_TRUE(step.seeds.empty());
}

}  // namespace
}  // namespace halograph

#include "trainer/pipeline/labeled_seeds.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/opened_graph.h"
#include "tests/unit/trainer_pipeline/split_seeds.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class LabeledSeedsTest : public OpenedGraphTest {
 protected:
  // Opens `spec` after replacing the labels of a set.
  template <typename T>
  void OpenWithLabels(TestGraphSpec spec, size_t set, const std::vector<T>& labels) {
    spec.tasks[0].sets[set].arrays[1] = MakeTensor("labels", labels);
    Open(spec);
  }
  Status Error(const std::string& task = "") {
    return ReadClassificationTask(*stores_.kv, task).status();
  }
};

TEST_F(LabeledSeedsTest, SortsSeedsAndKeepsTheirLabels) {
  const TestGraphSpec spec = RandomGraph({.nodes = 40, .num_classes = 5});
  Open(spec);
  auto task = ReadClassificationTask(*stores_.kv, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(task->num_classes, 5);
  EXPECT_EQ(task->train.seeds.size(), 20U);
  EXPECT_EQ(task->valid.seeds.size(), 10U);
  EXPECT_EQ(task->test.seeds.size(), 10U);
  const std::vector<int64_t> global = GlobalNodeIds(spec, "node");
  for (const LabeledSeeds* set : {&task->train, &task->valid, &task->test}) {
    EXPECT_TRUE(std::is_sorted(set->seeds.begin(), set->seeds.end()));
    for (size_t i = 0; i < set->seeds.size(); ++i) {
      const auto input = std::find(global.begin(), global.end(), set->seeds[i]) - global.begin();
      EXPECT_EQ(set->labels[i], input % 5);
    }
  }
}

// Counts rows that are read.
class CountedReads final : public KVStore {
 public:
  explicit CountedReads(KVStore* store) : store_(store) {}
  const GraphInfo& info() const override { return store_->info(); }
  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    return store_->Pull(requests, context);
  }
  StatusOr<TaskSet> ReadTaskSet(const TaskSetRef& set, IdRange rows,
                                CallContext& context) override {
    rows_read += rows.size();
    return store_->ReadTaskSet(set, rows, context);
  }
  int64_t rows_read = 0;

 private:
  KVStore* store_;
};

TEST_F(LabeledSeedsTest, RanksReadTheirPartsRowsAndTogetherHaveTheWholeInOrder) {
  constexpr int kWorld = 4;
  Open(RandomGraph({.seed = 4, .parts = 4, .nodes = 400, .num_classes = 5}));
  const auto whole = ReadClassificationTask(*stores_.kv, "");
  ASSERT_TRUE(whole.ok()) << whole.status();
  const SeedShards shards =
      SplitSeeds(whole->train.seeds, stores_.graph->info().book.NodeBoundaries(0), kWorld);
  for (int rank = 0; rank < kWorld; ++rank) {
    CountedReads counted(stores_.kv.get());
    const auto mine = ReadClassificationTask(counted, "", {rank, kWorld});
    ASSERT_TRUE(mine.ok()) << mine.status();
    EXPECT_EQ(mine->num_classes, 5);
    const IdRange shard = shards.of_rank[rank];
    EXPECT_EQ(mine->train.first_row, shard.begin);
    EXPECT_TRUE(std::ranges::equal(
        mine->train.seeds,
        std::span(whole->train.seeds)
            .subspan(static_cast<size_t>(shard.begin), static_cast<size_t>(shard.size()))));
    EXPECT_TRUE(std::ranges::equal(
        mine->train.labels,
        std::span(whole->train.labels)
            .subspan(static_cast<size_t>(shard.begin), static_cast<size_t>(shard.size()))));
    EXPECT_EQ(mine->train.part_rows, whole->train.part_rows);
    EXPECT_LT(counted.rows_read, 3 * 400 / 4) << "two or three of four parts at most";
  }
}

TEST_F(LabeledSeedsTest, ARankFindsTheClassesOfAllRanks) {
  TestGraphSpec spec = RandomGraph({.parts = 2, .nodes = 8});
  spec.tasks[0].metadata = Json::object();
  OpenWithLabels<int32_t>(spec, 2, {0, 6});
  for (const int rank : {0, 1}) {
    auto task = ReadClassificationTask(*stores_.kv, "", {rank, 2});
    ASSERT_TRUE(task.ok()) << task.status();
    EXPECT_EQ(task->num_classes, 7);
  }
}

TEST_F(LabeledSeedsTest, ClassesAreCountedWhereTheTaskDoesNotSay) {
  TestGraphSpec spec = RandomGraph({.nodes = 8});
  spec.tasks[0].metadata = Json::object();
  OpenWithLabels<int32_t>(spec, 2, {0, 6});
  auto task = ReadClassificationTask(*stores_.kv, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(task->num_classes, 7);
}

TEST_F(LabeledSeedsTest, LabelOutOfRangeNamesTheOriginalId) {
  // Input nodes 6 and 2 are validated, in this order.
  OpenWithLabels<int64_t>(RandomGraph({.nodes = 8, .num_classes = 3}), 1, {1, 3});
  const Status status = Error();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(status), HasSubstr("valid set: the label of node with original id 2 is 3"));
  EXPECT_THAT(Message(status), HasSubstr("expected 0 to 2"));
}

TEST_F(LabeledSeedsTest, NegativeLabelIsRefusedEvenWithoutNumClasses) {
  TestGraphSpec spec = RandomGraph({.nodes = 8});
  spec.tasks[0].metadata = Json::object();
  OpenWithLabels<int64_t>(spec, 1, {-2, 0});
  EXPECT_THAT(Message(Error()), HasSubstr("original id 6 is -2"));
}

TEST_F(LabeledSeedsTest, MinusOneIsUnlabelledAndNoClass) {
  TestGraphSpec spec = RandomGraph({.nodes = 8});
  spec.tasks[0].metadata = Json::object();
  OpenWithLabels<int16_t>(spec, 1, {-1, 3});
  const auto task = ReadClassificationTask(*stores_.kv, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(task->num_classes, 4);
  EXPECT_THAT(task->valid.labels, testing::UnorderedElementsAre(kUnlabelled, 3));
}

TEST_F(LabeledSeedsTest, WholeFloatsAreClassesAndNanIsUnlabelled) {
  OpenWithLabels<float>(RandomGraph({.nodes = 8, .num_classes = 3}), 1, {std::nanf(""), 2});
  const auto task = ReadClassificationTask(*stores_.kv, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_THAT(task->valid.labels, testing::UnorderedElementsAre(kUnlabelled, 2));
}

TEST_F(LabeledSeedsTest, FractionsAndHugeFloatsAreNoClasses) {
  for (const double label : {0.5, -0.5, 1e30, std::numeric_limits<double>::infinity()}) {
    std::filesystem::remove_all(folder_.path() / "graph");
    // Input nodes 6 and 2 are validated, in this order.
    OpenWithLabels<double>(RandomGraph({.nodes = 8}), 1, {1, label});
    EXPECT_EQ(Error().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(Error()), HasSubstr("the label of node with original id 2 is"));
    EXPECT_THAT(Message(Error()), HasSubstr("(float64), expected a class"));
  }
}

TEST_F(LabeledSeedsTest, ASetWithoutLabelsIsNamed) {
  TestGraphSpec spec = RandomGraph({.nodes = 8});
  spec.tasks[0].sets[2].arrays.pop_back();
  Open(spec);
  EXPECT_EQ(Error().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(Error()), HasSubstr("test set of 'node': has no labels"));
}

TEST_F(LabeledSeedsTest, NoTrainSeedsIsRefused) {
  TestGraphSpec spec = RandomGraph({.nodes = 8});
  spec.tasks[0].sets.erase(spec.tasks[0].sets.begin());
  Open(spec);
  EXPECT_THAT(Message(Error()), HasSubstr("no train seeds"));
}

TEST_F(LabeledSeedsTest, UnknownTaskNamesThoseThatExist) {
  Open(RandomGraph({.nodes = 8}));
  const Status status = Error("segmentation");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("'node_classification'"));
}

TEST_F(LabeledSeedsTest, SeveralTasksMustBeChosenFrom) {
  Open(RandomTypedGraph({.nodes = 20}));
  const Status status = Error();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("link_prediction"));
}

TEST_F(LabeledSeedsTest, ALinkTaskIsRefused) {
  Open(RandomTypedGraph({.nodes = 20}));
  EXPECT_THAT(Message(Error("link_prediction")), HasSubstr("node classification only"));
}

}  // namespace
}  // namespace halograph

#include "trainer/seeds/labeled_seeds.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/opened_graph.h"
#include "tests/support/split_seeds.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::span<const int64_t> ClassesOf(const LabeledSeeds& set) { return set.labels.As<int64_t>(); }

class LabeledSeedsTest : public OpenedGraphTest {
 protected:
  // Opens `spec` after replacing the labels of a set.
  template <typename T>
  void OpenWithLabels(TestGraphSpec spec, size_t set, const std::vector<T>& labels) {
    spec.tasks[0].sets[set].arrays[1] = MakeTensor("labels", labels);
    Open(spec);
  }
  Status Error(const std::string& task = "") { return ReadNodeTask(stores_, task).status(); }
};

TEST_F(LabeledSeedsTest, SortsSeedsAndKeepsTheirLabels) {
  const TestGraphSpec spec = RandomGraph({.nodes = 40, .num_classes = 5});
  Open(spec);
  auto task = ReadNodeTask(stores_, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(task->rule.classes, 5);
  EXPECT_EQ(task->train.seeds.size(), 20U);
  EXPECT_EQ(task->valid.seeds.size(), 10U);
  EXPECT_EQ(task->test.seeds.size(), 10U);
  const std::vector<int64_t> global = GlobalNodeIds(spec, "node");
  for (const LabeledSeeds* set : {&task->train, &task->valid, &task->test}) {
    EXPECT_TRUE(std::is_sorted(set->seeds.begin(), set->seeds.end()));
    for (size_t i = 0; i < set->seeds.size(); ++i) {
      const auto input = std::find(global.begin(), global.end(), set->seeds[i]) - global.begin();
      EXPECT_EQ(ClassesOf(*set)[i], input % 5);
    }
  }
}

TEST_F(LabeledSeedsTest, SeedsThatStandTwiceWithTwoLabelsAreCountedOnceOverAnyRanks) {
  const std::vector<int64_t> seeds = {3, 7, 3, 1, 7, 3, 9, 9, 5, 5, 2, 2, 2};
  const auto counted = [&](const TestTensor& labels, const Json& metadata) {
    TestGraphSpec spec = RandomGraph({.parts = 2, .nodes = 12});
    spec.tasks[0].metadata = metadata;
    spec.tasks[0].sets.resize(1);
    spec.tasks[0].sets[0].arrays = {MakeTensor("seeds", seeds), labels};
    Open(spec);
    std::vector<int64_t> found;
    for (const int world_size : {1, 2, 3, 5}) {
      found.push_back(0);
      for (int rank = 0; rank < world_size; ++rank) {
        const auto task = ReadNodeTask(stores_, "", {}, {rank, world_size});
        EXPECT_TRUE(task.ok()) << task.status();
        if (task.ok()) found.back() += task->train.contradicted;
      }
    }
    return found;
  };
  // 3 has three classes, 7 one and none, 9 one twice, 5 two, 2 two beside none.
  EXPECT_THAT(counted(MakeTensor<int64_t>("labels", {0, 1, 1, 0, -1, 2, 4, 4, 0, 1, 3, -1, 1}),
                      {{"num_classes", 5}}),
              ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(counted(MakeTensor<float>("labels", {0, 1, 0, 0, NAN, 0, 4, 4.5F, 0, 0, 3, NAN, 3}),
                      Json::object()),
              ElementsAre(1, 1, 1, 1));
  // 2 columns: 3 is known in one each, 5 differs in the second, 2 in the first and the last row.
  EXPECT_THAT(counted(MakeTensor<int8_t>("labels", {0, -1, 1, 1, -1, 1, 0, 0, 1,  1,  0, 1, 1,
                                                    1, 1,  1, 0, 1,  0, 0, 1, -1, -1, 0, 0, 0},
                                         2),
                      Json::object()),
              ElementsAre(2, 2, 2, 2));
}

// Counts rows that are read.
class CountedReads final : public TaskSets {
 public:
  explicit CountedReads(std::shared_ptr<TaskSets> sets) : sets_(std::move(sets)) {}
  StatusOr<TaskSet> Read(const TaskSetRef& set, IdRange rows, CallContext& context) override {
    rows_read += rows.size();
    return sets_->Read(set, rows, context);
  }
  int64_t rows_read = 0;

 private:
  const std::shared_ptr<TaskSets> sets_;
};

TEST_F(LabeledSeedsTest, RanksReadTheirPartsRowsAndTogetherHaveTheWholeInOrder) {
  constexpr int kWorld = 4;
  Open(RandomGraph({.seed = 4, .parts = 4, .nodes = 400, .num_classes = 5}));
  const auto whole = ReadNodeTask(stores_, "");
  ASSERT_TRUE(whole.ok()) << whole.status();
  const SeedShards shards =
      SplitSeeds(whole->train.seeds, stores_.graph->info().book.NodeBoundaries(0), kWorld);
  for (int rank = 0; rank < kWorld; ++rank) {
    const auto counted = std::make_shared<CountedReads>(stores_.tasks);
    Stores stores = stores_;
    stores.tasks = counted;
    const auto mine = ReadNodeTask(stores, "", {}, {rank, kWorld});
    ASSERT_TRUE(mine.ok()) << mine.status();
    EXPECT_EQ(mine->rule.classes, 5);
    const IdRange shard = shards.of_rank[rank];
    EXPECT_EQ(mine->train.first_row, shard.begin);
    EXPECT_TRUE(std::ranges::equal(
        mine->train.seeds,
        std::span(whole->train.seeds)
            .subspan(static_cast<size_t>(shard.begin), static_cast<size_t>(shard.size()))));
    EXPECT_TRUE(std::ranges::equal(
        ClassesOf(mine->train),
        ClassesOf(whole->train)
            .subspan(static_cast<size_t>(shard.begin), static_cast<size_t>(shard.size()))));
    EXPECT_EQ(mine->train.part_rows, whole->train.part_rows);
    EXPECT_LT(counted->rows_read, 3 * 400 / 4) << "two or three of four parts at most";
  }
}

TEST_F(LabeledSeedsTest, ARankFindsTheClassesOfAllRanks) {
  TestGraphSpec spec = RandomGraph({.parts = 2, .nodes = 8});
  spec.tasks[0].metadata = Json::object();
  OpenWithLabels<int32_t>(spec, 2, {0, 6});
  for (const int rank : {0, 1}) {
    auto task = ReadNodeTask(stores_, "", {}, {rank, 2});
    ASSERT_TRUE(task.ok()) << task.status();
    EXPECT_EQ(task->rule.classes, 7);
  }
}

TEST_F(LabeledSeedsTest, ClassesAreCountedWhereTheTaskDoesNotSay) {
  TestGraphSpec spec = RandomGraph({.nodes = 8});
  spec.tasks[0].metadata = Json::object();
  OpenWithLabels<int32_t>(spec, 2, {0, 6});
  auto task = ReadNodeTask(stores_, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(task->rule.classes, 7);
}

TEST_F(LabeledSeedsTest, LabelOutOfRangeNamesTheOriginalId) {
  // Input nodes 6 and 2 are validated, in this order.
  OpenWithLabels<int64_t>(RandomGraph({.nodes = 8, .num_classes = 3}), 1, {1, 3});
  const Status status = Error();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(status), HasSubstr("valid set: the label of node with original id 2 is 3"));
  EXPECT_THAT(Message(status), HasSubstr("expected a class: a whole number from 0 to 2"));
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
  const auto task = ReadNodeTask(stores_, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(task->rule.classes, 4);
  EXPECT_THAT(ClassesOf(task->valid), testing::UnorderedElementsAre(kUnlabelled, 3));
}

TEST_F(LabeledSeedsTest, WholeFloatsAreClassesAndNanIsUnlabelled) {
  OpenWithLabels<float>(RandomGraph({.nodes = 8, .num_classes = 3}), 1, {std::nanf(""), 2});
  const auto task = ReadNodeTask(stores_, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_THAT(ClassesOf(task->valid), testing::UnorderedElementsAre(kUnlabelled, 2));
}

TEST_F(LabeledSeedsTest, FractionsAndHugeFloatsAreNoClasses) {
  for (const double label : {0.5, -0.5, 1e30, std::numeric_limits<double>::infinity()}) {
    // Input nodes 6 and 2 are validated, in this order.
    OpenWithLabels<double>(RandomGraph({.nodes = 8}), 1, {1, label});
    EXPECT_EQ(Error().code(), absl::StatusCode::kOutOfRange);
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
  EXPECT_THAT(Message(Error("link_prediction")), HasSubstr("is about edges"));
}

// ---- several labels, and values ----------------------------------------------------------------

// Eight nodes in two parts; of the training set, input nodes 0, 4, 1 and 5 in this order.
class LabelKindsTest : public LabeledSeedsTest {
 protected:
  template <typename T>
  void OpenLabelled(const std::vector<T>& labels, int64_t columns, Json metadata = Json::object()) {
    spec_ = RandomGraph({.parts = 2, .nodes = 8});
    spec_.tasks[0].metadata = std::move(metadata);
    spec_.tasks[0].sets.resize(1);
    spec_.tasks[0].sets[0].arrays = {MakeTensor<int64_t>("seeds", {0, 4, 1, 5}),
                                     MakeTensor("labels", labels, columns)};
    Open(spec_);
  }
  StatusOr<NodeTaskRows> Read(std::optional<NodeTaskKind> asked = {}) {
    return ReadNodeTask(stores_, "", asked);
  }
  NodeTaskKind Kind() { return Read().value().rule.kind; }
  // Labels by input node: row i is of the node that the i-th seed of the spec names.
  template <typename T>
  std::vector<std::vector<T>> InInputOrder(const LabeledSeeds& set) const {
    const std::vector<int64_t> global = GlobalNodeIds(spec_, "node");
    const std::span<const T> values = set.labels.As<T>();
    std::vector<std::vector<T>> rows;
    for (const int64_t input : {0, 4, 1, 5}) {
      const auto row = std::find(set.seeds.begin(), set.seeds.end(), global[input]);
      const auto at = (row - set.seeds.begin()) * set.labels.dim;
      rows.emplace_back(values.begin() + at, values.begin() + at + set.labels.dim);
    }
    return rows;
  }
  TestGraphSpec spec_;
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_F(LabelKindsTest, DtypeColumnsAndClassesTellTheKindWhereNothingElseDoes) {
  OpenLabelled<int32_t>({2, 0, 1, -1}, 0);
  EXPECT_EQ(Kind(), NodeTaskKind::kClassification);
  OpenLabelled<int32_t>({2, 0, 1, -1}, 1);
  EXPECT_EQ(Kind(), NodeTaskKind::kClassification) << "[n, 1] is [n]";
  OpenLabelled<float>({2, 0, 1, kNan}, 0, {{"num_classes", 3}});
  EXPECT_EQ(Kind(), NodeTaskKind::kClassification);
  OpenLabelled<float>({2, 0, 1, kNan}, 0);
  EXPECT_EQ(Kind(), NodeTaskKind::kRegression);
  OpenLabelled<float>({2, 0, 1, 3, 4, 5, 6, 7}, 2);
  EXPECT_EQ(Kind(), NodeTaskKind::kRegression);
  OpenLabelled<float>({1, 0, 1, 0, 0, 0, 0, kNan}, 2, {{"num_classes", 2}});
  EXPECT_EQ(Kind(), NodeTaskKind::kMultiLabel);
  OpenLabelled<uint8_t>({1, 0, 1, 0, 0, 0, 0, 1}, 2);
  EXPECT_EQ(Kind(), NodeTaskKind::kMultiLabel);
}

TEST_F(LabelKindsTest, MoreClassesThanLabelledRowsAreRefusedUnlessSomebodySaysTheyAreClasses) {
  OpenLabelled<int64_t>({2019, 1998, 2019, -1}, 0);
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      Message(Read().status()),
      AllOf(HasSubstr("largest label is 2019"), HasSubstr("2020 classes"),
            HasSubstr("the 3 rows that have a label (2 classes occur)"),
            HasSubstr("--task-kind regression"), HasSubstr("num_classes in the task's metadata")));
  EXPECT_EQ(Read(NodeTaskKind::kClassification)->rule.classes, 2020);
  EXPECT_EQ(Read(NodeTaskKind::kRegression)->rule.kind, NodeTaskKind::kRegression);
  OpenLabelled<int64_t>({2019, 1998, 2019, -1}, 0, {{"num_classes", 2020}});
  EXPECT_EQ(Read()->rule.classes, 2020);
  OpenLabelled<int64_t>({2019, 1998, 2019, -1}, 0, {{"task_kind", "classification"}});
  EXPECT_EQ(Read()->rule.classes, 2020);
  OpenLabelled<int64_t>({3, 3, 3, 3}, 0);
  EXPECT_EQ(Read()->rule.classes, 4) << "as many as rows";
  OpenLabelled<int64_t>({-1, 4, 0, 0}, 0);
  EXPECT_THAT(Message(Read().status()), HasSubstr("5 classes, more than the 3 rows"));
}

TEST_F(LabelKindsTest, TheTaskSaysItsKindAndTheUserHasTheLastWord) {
  OpenLabelled<int64_t>({1, 0, 1, 0}, 0, {{"task_kind", "regression"}});
  EXPECT_EQ(Kind(), NodeTaskKind::kRegression);
  EXPECT_EQ(Read(NodeTaskKind::kMultiLabel)->rule.kind, NodeTaskKind::kMultiLabel);
  EXPECT_EQ(Read(NodeTaskKind::kClassification)->rule.classes, 2);
  OpenLabelled<int64_t>({1, 0, 1, 0}, 0, {{"task_kind", "ranking"}});
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(Read().status()),
              AllOf(HasSubstr("task_kind is \"ranking\""), HasSubstr("regression")));
}

TEST_F(LabelKindsTest, AKindThatTheDataCannotGiveIsRefusedWithWhatItIs) {
  OpenLabelled<float>({2, 0, 1, 3, 4, 5, 6, 7}, 2);
  EXPECT_THAT(Message(Read(NodeTaskKind::kClassification).status()),
              AllOf(HasSubstr("2 columns (float32)"), HasSubstr("multi-label or regression")));
  EXPECT_THAT(Message(Read(NodeTaskKind::kMultiLabel).status()),
              AllOf(HasSubstr("train set: label 1 of node with original id 4 is 3 (float32)"),
                    HasSubstr("expected 0 or 1")));
  OpenLabelled<int8_t>({1, 0, 1, 0, 0, 0, 0, 1}, 2, {{"num_classes", 7}});
  EXPECT_THAT(Message(Read().status()), AllOf(HasSubstr("2 columns"), HasSubstr("is 7")));
}

TEST_F(LabelKindsTest, SeveralLabelsAreZeroOneOrUnknownWhateverTheirDtype) {
  OpenLabelled<int64_t>({1, 0, -1, 0, 1, -1, 0, 0}, 2);
  const std::vector<std::vector<int8_t>> wanted = {{1, 0}, {-1, 0}, {1, -1}, {0, 0}};
  EXPECT_EQ(InInputOrder<int8_t>(Read()->train), wanted);
  EXPECT_EQ(Read()->rule.columns, 2);
  OpenLabelled<double>({1, 0, kNan, 0, 1, -1, 0, 0}, 2, {{"num_classes", 2}});
  EXPECT_EQ(InInputOrder<int8_t>(Read()->train), wanted);
  for (const double wrong : {2.0, 0.5, -2.0, std::numeric_limits<double>::infinity()}) {
    OpenLabelled<double>({1, 0, 1, 0, 1, 0, 0, wrong}, 2, {{"num_classes", 2}});
    EXPECT_EQ(Read().status().code(), absl::StatusCode::kOutOfRange) << wrong;
    EXPECT_THAT(Message(Read().status()), HasSubstr("label 1 of node with original id 5 is"));
  }
}

TEST_F(LabelKindsTest, ValuesAreFloat32OfAnyDtypeAndInfiniteOnesAreRefused) {
  OpenLabelled<double>({1.5, kNan, -3, 1e30}, 0);
  const LabeledSeeds train = Read()->train;
  EXPECT_EQ(train.labels.dtype, DType::kFloat32);
  const auto rows = InInputOrder<float>(train);
  EXPECT_EQ(rows[0][0], 1.5F);
  EXPECT_TRUE(std::isnan(rows[1][0]));
  EXPECT_EQ(rows[3][0], 1e30F);
  OpenLabelled<int16_t>({7, -1, 3, 2}, 0);
  EXPECT_EQ(InInputOrder<float>(Read(NodeTaskKind::kRegression)->train)[1][0], -1)
      << "a value like others";
  for (const double wrong : {std::numeric_limits<double>::infinity(), -1e39}) {
    OpenLabelled<double>({1.5, 0, wrong, 1}, 0);
    EXPECT_EQ(Read().status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(Message(Read().status()),
                AllOf(HasSubstr("the label of node with original id 1 is"),
                      HasSubstr("a finite number that float32 can hold")));
  }
}

TEST_F(LabelKindsTest, SetsMustHaveLabelsOfAsManyColumns) {
  TestGraphSpec spec = RandomGraph({.nodes = 8});
  spec.tasks[0].metadata = Json::object();
  spec.tasks[0].sets[1].arrays[1] = MakeTensor<int64_t>("labels", {1, 0, 0, 1}, 2);
  Open(spec);
  EXPECT_THAT(Message(Error()),
              HasSubstr("valid set of 'node': labels have 2 columns, those of the "
                        "train set 1"));
}

TEST_F(LabelKindsTest, LabelsAreCountedOverAllRanks) {
  OpenLabelled<int64_t>({2, 0, 2, -1}, 0);
  for (const int rank : {0, 1}) {
    const auto task = ReadNodeTask(stores_, "", {}, {rank, 2});
    EXPECT_THAT(*CountLabels(stores_, *task, "train"), ElementsAre(1, 0, 2));
    EXPECT_THAT(*CountLabels(stores_, *task, "valid"), ElementsAre(0, 0, 0));
  }
  OpenLabelled<int64_t>({1, 0, -1, 0, 1, -1, 0, 1}, 2);
  EXPECT_THAT(*CountLabels(stores_, *Read(), "train"), ElementsAre(1, 2, 2, 1));
}

// ---- several node types ------------------------------------------------------------------------

// The typed graph with a task whose training set is of papers and authors, in several parts. Labels
// are input ids modulo 3, of authors plus 3.
class SeveralTypesTest : public LabeledSeedsTest {
 protected:
  void SetUp() override {
    spec_ = RandomTypedGraph({.seed = 3, .parts = 3, .nodes = 60});
    TestTask task{.name = "typed", .metadata = {{"num_classes", 6}}};
    for (const std::string type : {"paper", "author"}) {
      const auto found = std::find_if(spec_.node_types.begin(), spec_.node_types.end(),
                                      [&](const TestNodeType& t) { return t.name == type; });
      std::vector<int64_t> seeds, labels;
      for (int64_t i = std::ssize(found->owners) - 1; i >= 0; i -= 2) {
        seeds.push_back(i);
        labels.push_back(i % 3 + (type == "author" ? 3 : 0));
      }
      task.sets.push_back({.set = "train",
                           .type = type,
                           .arrays = {MakeTensor("seeds", seeds), MakeTensor("labels", labels)}});
    }
    task.sets.push_back(
        {.set = "test",
         .type = "paper",
         .arrays = {MakeTensor<int64_t>("seeds", {0}), MakeTensor<int64_t>("labels", {0})}});
    spec_.tasks = {task};
    Open(spec_);
  }
  TestGraphSpec spec_;
};

TEST_F(SeveralTypesTest, RowsAreSortedByPartTypeAndSeedAndKeepTheirLabels) {
  const auto task = ReadNodeTask(stores_, "");
  ASSERT_TRUE(task.ok()) << task.status();
  const Schema& schema = stores_.graph->info().schema;
  const int author = *schema.NodeTypeIndex("author"), paper = *schema.NodeTypeIndex("paper");
  EXPECT_THAT(task->node_types, ElementsAre(author, paper));
  EXPECT_THAT(task->test.types, ElementsAre(paper));
  EXPECT_THAT(task->valid.part_rows, IsEmpty());
  const LabeledSeeds& train = task->train;
  ASSERT_EQ(train.types.size(), train.seeds.size());
  EXPECT_EQ(train.part_rows.back(), std::ssize(train.seeds));
  std::tuple<int, int, int64_t> before{-1, 0, 0};
  int64_t authors = 0;
  for (size_t i = 0; i < train.seeds.size(); ++i) {
    const int type = train.types[i];
    const std::string& name = schema.node_types[type].name;
    const std::vector<int64_t> global = GlobalNodeIds(spec_, name);
    const auto input = std::find(global.begin(), global.end(), train.seeds[i]) - global.begin();
    EXPECT_EQ(ClassesOf(train)[i], input % 3 + (type == author ? 3 : 0)) << name << input;
    authors += type == author;
    const int part = stores_.graph->info().book.NodeOwner(type, train.seeds[i]);
    EXPECT_LT(before, std::tuple(part, type, train.seeds[i]));
    before = {part, type, train.seeds[i]};
    EXPECT_GE(static_cast<int64_t>(i), train.part_rows[part]);
    EXPECT_LT(static_cast<int64_t>(i), train.part_rows[part + 1]);
  }
  EXPECT_GT(authors, 0);
  EXPECT_LT(authors, std::ssize(train.seeds));
}

TEST_F(SeveralTypesTest, RanksTogetherHaveTheWholeInOrder) {
  const auto whole = ReadNodeTask(stores_, "");
  LabeledSeeds joined;
  std::vector<int64_t> labels;
  for (int rank = 0; rank < 4; ++rank) {
    const SeedShards shards = SplitRows(whole->train.part_rows, 4);
    // By where the shards lie, as ranks need not be in the order of parts.
    const auto owner = std::find_if(shards.of_rank.begin(), shards.of_rank.end(),
                                    [&](IdRange r) { return r.begin == std::ssize(joined.seeds); });
    const int of = static_cast<int>(owner - shards.of_rank.begin());
    const auto mine = ReadNodeTask(stores_, "", {}, {of, 4});
    ASSERT_TRUE(mine.ok()) << mine.status();
    EXPECT_EQ(mine->train.first_row, std::ssize(joined.seeds));
    joined.seeds.insert(joined.seeds.end(), mine->train.seeds.begin(), mine->train.seeds.end());
    joined.types.insert(joined.types.end(), mine->train.types.begin(), mine->train.types.end());
    labels.insert(labels.end(), ClassesOf(mine->train).begin(), ClassesOf(mine->train).end());
  }
  EXPECT_EQ(joined.seeds, whole->train.seeds);
  EXPECT_EQ(joined.types, whole->train.types);
  EXPECT_TRUE(std::ranges::equal(labels, ClassesOf(whole->train)));
}

}  // namespace
}  // namespace halograph

#include "partitioner/inspect/task_report.h"

#include <cmath>

#include <gmock/gmock.h>

#include "tests/support/memory_dataset.h"
#include "tests/support/partition_program.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const float kNan = std::nanf("");

// Ten nodes; a task of three classes with a training set of five.
class Labelled : public DatasetBuilder {
 public:
  template <typename T>
  explicit Labelled(const std::vector<T>& labels, int64_t columns = 0) {
    Nodes("node", 10).Edges("node", "edge", "node", {{0, 1}});
    TaskSet("train", "node", false, {4, 3, 2, 1, 0}).TaskArray("labels", labels, columns);
  }
};

// The same of a task that does not say how many classes it has.
Dataset WithoutClasses(const DatasetBuilder& builder) {
  Dataset dataset = builder.dataset();
  dataset.tasks[0].metadata = Json::object();
  return dataset;
}

TEST(LabelsOfTest, ClassesOfLabelledSeeds) {
  const Labelled builder(std::vector<int64_t>{2, 0, 0, 2, 0});
  const auto labels = LabelsOf(builder.dataset());
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(ToText(labels[0]), "5 of 5 seeds are labelled; 2 of 3 classes, 0 to 2 (int64)");
  EXPECT_TRUE(CheckLabels(labels).ok());
  EXPECT_THAT(WarningsOf(builder.dataset(), labels), IsEmpty());
  EXPECT_EQ(ToJson(labels[0])["classes"], 2);
}

TEST(LabelsOfTest, NanAndMinusOneAreUnlabelledAndWholeFloatsAreClasses) {
  const Labelled builder(std::vector<float>{kNan, -1, 1, kNan, 2});
  const auto labels = LabelsOf(builder.dataset());
  EXPECT_EQ(ToText(labels.at(0)),
            "2 of 5 seeds are labelled (not labelled: 2 with NaN, 1 with -1); 2 of 3 classes, 1 to "
            "2 (float32)");
  EXPECT_TRUE(CheckLabels(labels).ok());
  EXPECT_THAT(WarningsOf(builder.dataset(), labels), IsEmpty());
}

TEST(LabelsOfTest, FloatsWithoutClassesAreValuesAlsoIfAllAreWhole) {
  const Labelled builder(std::vector<float>{3, 0, 2, kNan, -1});
  const auto labels = LabelsOf(WithoutClasses(builder));
  EXPECT_EQ(ToText(labels.at(0)),
            "4 of 5 seeds are labelled (not labelled: 1 with NaN, 0 with -1); values from -1 to 3 "
            "(float32)");
  EXPECT_EQ(ToJson(labels[0])["kind"], "regression");
  EXPECT_EQ(ToJson(labels[0])["classes"], 0);
}

TEST(LabelsOfTest, ARowOfValuesIsLabelledIfAllAreThereAndOneOfLabelsIfOneIsKnown) {
  const Labelled values(std::vector<float>{1, 2, kNan, 3, 4, kNan, kNan, kNan, 5, -1}, 2);
  EXPECT_EQ(
      ToText(LabelsOf(WithoutClasses(values)).at(0)),
      "2 of 5 seeds are labelled (not labelled: 3 with NaN, 0 with -1); values from -1 to 5 in "
      "2 columns (float32)");
  const Labelled known(std::vector<int8_t>{1, 0, -1, 1, -1, -1, 0, 0, -1, -1}, 2);
  EXPECT_EQ(
      ToText(LabelsOf(WithoutClasses(known)).at(0)),
      "3 of 5 seeds are labelled (not labelled: 0 with NaN, 2 with -1); values from 0 to 1 in "
      "2 columns (int8)");
  EXPECT_THAT(WarningsOf(known.dataset(), LabelsOf(WithoutClasses(known))), IsEmpty());
}

TEST(LabelsOfTest, ATaskThatSaysItIsARegressionHasValues) {
  Dataset dataset = WithoutClasses(Labelled(std::vector<int64_t>{0, -1, 7, -1, 1}));
  dataset.tasks[0].metadata["task_kind"] = "regression";
  EXPECT_EQ(ToText(LabelsOf(dataset).at(0)),
            "5 of 5 seeds are labelled; values from -1 to 7 (int64)");
}

TEST(LabelsOfTest, SetsOfSeveralTypesAddUpAndTheirOrderIsThatOfTraining) {
  DatasetBuilder builder;
  builder.Nodes("a", 3).Nodes("b", 3).Edges("a", "to", "b", {});
  builder.TaskSet("test", "a", false, {0}).TaskArray<int32_t>("labels", {1});
  builder.TaskSet("train", "a", false, {1}).TaskArray<int32_t>("labels", {0});
  builder.TaskSet("train", "b", false, {1, 2}).TaskArray<int32_t>("labels", {2, 2});
  builder.TaskSet("valid", "a:to:b", true, {0, 0}, 2);  // no labels
  const auto labels = LabelsOf(builder.dataset());
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(labels[0].set, "train");
  EXPECT_EQ(labels[0].rows, 3);
  EXPECT_EQ(labels[0].classes, 2);
  EXPECT_EQ(labels[1].set, "test");
}

TEST(CheckLabelsTest, LabelBeyondTheClassesNamesFileNodeAndRange) {
  const Labelled builder(std::vector<int64_t>{0, 1, 2, 3, 0});
  const Status status = CheckLabels(LabelsOf(builder.dataset()));
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("labels.npy: the label of node 1 is 3"),
                    HasSubstr("task 'task' has 3 classes, 0 to 2"), HasSubstr("num_classes")));
}

TEST(CheckLabelsTest, WhatIsNoClassIsRefusedOnlyWhereTheTaskHasClasses) {
  for (const float label : {-2.0F, 0.5F, -0.5F, std::numeric_limits<float>::infinity()}) {
    const Labelled builder(std::vector<float>{0, label, 1, 1, 1});
    EXPECT_TRUE(absl::IsOutOfRange(CheckLabels(LabelsOf(builder.dataset())))) << label;
    const Dataset values = WithoutClasses(builder);
    const auto labels = LabelsOf(values);
    EXPECT_TRUE(CheckLabels(labels).ok());
    EXPECT_THAT(ToText(labels[0]), HasSubstr("values from"));
    if (std::isfinite(label)) {
      EXPECT_THAT(WarningsOf(values, labels), IsEmpty()) << "values of a regression";
    } else {
      EXPECT_THAT(WarningsOf(values, labels), ElementsAre(HasSubstr("takes finite values")));
    }
  }
}

TEST(WarningsTest, WholeNumbersThatAreNoClassesAreForOtherProgramsUnlessTheyAreValues) {
  Dataset dataset = WithoutClasses(Labelled(std::vector<int64_t>{0, -2, 1, 1, 1}));
  EXPECT_THAT(WarningsOf(dataset, LabelsOf(dataset)),
              ElementsAre(AllOf(HasSubstr("the label of node 3 is"), HasSubstr("whole numbers"))));
  dataset.tasks[0].metadata["task_kind"] = "regression";
  EXPECT_THAT(WarningsOf(dataset, LabelsOf(dataset)), IsEmpty());
}

TEST(CheckLabelsTest, ValuesAreNoClassesWhateverTheTaskSaysOfClasses) {
  Dataset dataset = Labelled(std::vector<float>{0.5F, 7, 1, 1, 1}).dataset();
  dataset.tasks[0].metadata["task_kind"] = "regression";
  EXPECT_TRUE(CheckLabels(LabelsOf(dataset)).ok());
  EXPECT_THAT(WarningsOf(dataset, LabelsOf(dataset)), IsEmpty());
}

TEST(CheckLabelsTest, AmongFractionsMinusOneIsAValue) {
  const Labelled builder(std::vector<double>{0.5, -1, -1, 1, 1});
  const auto labels = LabelsOf(WithoutClasses(builder));
  EXPECT_EQ(ToText(labels.at(0)), "5 of 5 seeds are labelled; values from -1 to 1 (float64)");
}

TEST(WarningsTest, SeveralColumnsAreLabelsOfZeroOrOne) {
  const Labelled builder(std::vector<uint8_t>{1, 0, 0, 0, 1, 1, 0, 0, 0, 1}, 2);
  const auto labels = LabelsOf(builder.dataset());
  EXPECT_THAT(ToText(labels.at(0)), HasSubstr("in 2 columns"));
  EXPECT_TRUE(CheckLabels(labels).ok());
  EXPECT_THAT(WarningsOf(builder.dataset(), labels), IsEmpty());
  const Labelled counts(std::vector<uint8_t>{1, 0, 0, 0, 1, 5, 0, 0, 0, 1}, 2);
  EXPECT_THAT(WarningsOf(counts.dataset(), LabelsOf(counts.dataset())),
              ElementsAre(AllOf(HasSubstr("2 columns, from 0 to 5"), HasSubstr("0 or 1"))));
}

TEST(WarningsTest, TrainingSetWithoutAnyLabel) {
  const Labelled builder(std::vector<int64_t>{-1, -1, -1, -1, -1});
  const auto labels = LabelsOf(builder.dataset());
  EXPECT_EQ(ToText(labels.at(0)),
            "0 of 5 seeds are labelled (not labelled: 0 with NaN, 5 with -1) (int64)");
  EXPECT_THAT(WarningsOf(builder.dataset(), labels), ElementsAre(HasSubstr("no seed has a label")));
}

TEST(WarningsTest, SeedsOfTwoSetsOfOneTask) {
  DatasetBuilder builder;
  builder.Nodes("a", 9).Nodes("b", 9).Edges("a", "to", "b", {});
  builder.TaskSet("train", "a", false, {0, 1, 2})
      .TaskSet("train", "b", false, {7, 8})
      .TaskSet("valid", "a", false, {3})
      .TaskSet("test", "a", false, {8, 7, 2, 0});  // 7 and 8 train as nodes of another type
  EXPECT_THAT(WarningsOf(builder.dataset(), {}),
              ElementsAre(AllOf(HasSubstr("2 of 4 seeds of the test set"),
                                HasSubstr("in the train set too"), HasSubstr("seeds.npy"))));
}

TEST(CheckNamesTest, NameOfMoreBytesThanAFileNameTakesIsRefused) {
  DatasetBuilder fits;
  fits.Nodes(std::string(120, 'a'), 1).Edges("a", "b", "c", {});
  EXPECT_TRUE(CheckNames(fits.dataset()).ok());
  DatasetBuilder type;
  type.Nodes(std::string(300, 'a'), 1);
  EXPECT_THAT(Message(CheckNames(type.dataset())),
              AllOf(HasSubstr("node type 'aaaa"), HasSubstr("300 bytes"), HasSubstr("shorter")));
  DatasetBuilder relation;  // the two colons take six bytes
  relation.Edges(std::string(100, 'a'), std::string(50, 'b'), std::string(100, 'a'), {});
  EXPECT_THAT(Message(CheckNames(relation.dataset())), HasSubstr("256 bytes"));
  DatasetBuilder feature;
  feature.Nodes("a", 1).NodeFeature("\u00e4", std::vector<float>{1}, 0);
  EXPECT_TRUE(CheckNames(feature.dataset()).ok());
  Dataset dataset = feature.dataset();
  for (int i = 0; i < 42; ++i) dataset.node_types[0].features[0].spec.name += "\u00e4";
  EXPECT_THAT(Message(CheckNames(dataset)), HasSubstr("feature"));
}

class TaskReportCommandTest : public ProgramFixture {};

TEST_F(TaskReportCommandTest, RunSaysWhatEachSetHasAndKeepsPhasesOfMemoryForDebug) {
  ASSERT_EQ(Call({"run", "--input", Cora(), "--output", Path("g"), "--parts", "2"}), 0) << error_;
  EXPECT_THAT(error_,
              AllOf(HasSubstr("task 'node_classification', train set: 140 of 140 seeds"),
                    HasSubstr("test set: 1,000 of 1,000 seeds are labelled; 7 of 7 classes")));
  EXPECT_THAT(error_, AllOf(HasSubstr("memory: at most"), Not(HasSubstr("bucketing edges"))));
  ASSERT_EQ(Call({"run", "--log-level", "debug", "--input", Cora(), "--output", Path("h"),
                  "--parts", "2"}),
            0);
  EXPECT_THAT(error_, HasSubstr("bucketing edges"));
}

}  // namespace
}  // namespace halograph

#include "trainer/output/prediction_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/storage/file.h"
#include "common/storage/npy.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Predictions kUnsorted = {.original_ids = {30, -1, 7}, .classes = {1, 0, 2}};
const Predictions kUnsortedLogits = {.what = PredictWhat::kLogits,
                                     .columns = 2,
                                     .original_ids = {30, -1, 7},
                                     .values = {0.5F, 1, -2, 0.1F, 3, 4}};

TEST(WritePredictionsTest, CsvIsSortedByOriginalIdUnderAHeader) {
  const TestFolder folder;
  const auto path = folder.path() / "p.csv";
  ASSERT_TRUE(WritePredictions(path.string(), kUnsorted).ok());
  EXPECT_EQ(*ReadTextFile(path), "original_id,prediction\n-1,0\n7,2\n30,1\n");
}

TEST(RowsOfTypeTest, ARowGoesWithItsNodeTypeInTheOrderGiven) {
  Predictions logits = kUnsortedLogits, classes = kUnsorted;
  logits.types = classes.types = {4, 1, 4};
  EXPECT_THAT(RowsOfType(logits, 4).original_ids, ElementsAre(30, 7));
  EXPECT_THAT(RowsOfType(logits, 4).values, ElementsAre(0.5F, 1, 3, 4));
  EXPECT_EQ(RowsOfType(logits, 4).columns, 2);
  EXPECT_EQ(RowsOfType(logits, 4).what, PredictWhat::kLogits);
  EXPECT_THAT(RowsOfType(classes, 1).classes, ElementsAre(0));
  EXPECT_EQ(RowsOfType(classes, 2).rows(), 0);
}

TEST(RowsOfTypeTest, TheNameOfTheTypeStandsBeforeTheEnding) {
  EXPECT_EQ(PredictionPathOf("a.b/p.csv", "author"), "a.b/p.author.csv");
  EXPECT_EQ(PredictionPathOf("p.npy", "a/b"), "p.a%2Fb.npy");
}

TEST(WritePredictionsTest, NpyHasTwoColumns) {
  const TestFolder folder;
  const auto path = folder.path() / "p.npy";
  ASSERT_TRUE(WritePredictions(path.string(), kUnsorted).ok());
  auto array = NpyArray::Open(path);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape(), ElementsAre(3, 2));
  EXPECT_THAT(*array->As<int64_t>(), ElementsAre(-1, 0, 7, 2, 30, 1));
}

// What WritePredictions makes of the same rows.
void ExpectSpooledAlike(const Predictions& predictions, const std::string& name, int64_t memory) {
  const TestFolder folder;
  const auto wanted = folder.path() / ("wanted-" + name), found = folder.path() / name;
  ASSERT_TRUE(WritePredictions(wanted.string(), predictions).ok());
  ScratchSpace scratch(memory, folder.path());
  PredictionSpool spool(predictions.what, predictions.columns, predictions.rows() + 2, &scratch);
  const auto bytes = predictions.what == PredictWhat::kClass
                         ? std::as_bytes(std::span(predictions.classes))
                         : std::as_bytes(std::span(predictions.values));
  const std::span<const int64_t> ids = predictions.original_ids;
  const size_t row = spool.row_bytes();
  for (const auto& [begin, count] : {std::pair<size_t, size_t>{0, 2}, {2, 0}, {2, 1}}) {
    ASSERT_TRUE(
        spool.Append(ids.subspan(begin, count), bytes.subspan(begin * row, count * row)).ok());
  }
  ASSERT_TRUE(spool.Write(found.string()).ok());
  EXPECT_EQ(scratch.bytes_in_files(), memory == 0 ? spool.bytes() : 0);
  EXPECT_EQ(*ReadTextFile(found), *ReadTextFile(wanted));
}

TEST(PredictionSpoolTest, WritesTheFilesOfWritePredictionsFromMemoryOrScratchFiles) {
  for (const int64_t memory : {0, 1 << 20}) {
    for (const std::string name : {"p.csv", "p.npy"}) {
      ExpectSpooledAlike(kUnsorted, name, memory);
      ExpectSpooledAlike(kUnsortedLogits, name, memory);
    }
  }
}

TEST(PredictionSpoolTest, WritesNoRowsAndRefusesMoreThanWereAnnounced) {
  const TestFolder folder;
  const auto path = folder.path() / "p.csv";
  ScratchSpace scratch(1 << 20, folder.path());
  PredictionSpool spool(PredictWhat::kClass, 1, 1, &scratch);
  ASSERT_TRUE(spool.Write(path.string()).ok());
  EXPECT_EQ(*ReadTextFile(path), "original_id,prediction\n");
  const std::vector<int64_t> two = {4, 5};
  EXPECT_FALSE(spool.Append(two, std::as_bytes(std::span(two))).ok());
}

TEST(WritePredictionsTest, CsvOfValuesNamesEveryColumnAndKeepsEveryDigit) {
  const TestFolder folder;
  const auto path = folder.path() / "p.csv";
  ASSERT_TRUE(WritePredictions(path.string(), kUnsortedLogits).ok());
  EXPECT_EQ(*ReadTextFile(path), "original_id,logit_0,logit_1\n-1,-2,0.1\n7,3,4\n30,0.5,1\n");
  Predictions probabilities = kUnsortedLogits;
  probabilities.what = PredictWhat::kProbabilities;
  ASSERT_TRUE(WritePredictions(path.string(), probabilities).ok());
  EXPECT_THAT(*ReadTextFile(path), testing::StartsWith("original_id,probability_0,"));
}

TEST(WritePredictionsTest, NpyOfValuesHasTheIdsOfItsRowsBesideIt) {
  const TestFolder folder;
  const auto path = folder.path() / "p.npy";
  ASSERT_TRUE(WritePredictions(path.string(), kUnsortedLogits).ok());
  auto values = NpyArray::Open(path);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(values->shape(), ElementsAre(3, 2));
  EXPECT_THAT(*values->As<float>(), ElementsAre(-2, 0.1F, 3, 4, 0.5F, 1));
  auto ids = NpyArray::Open(folder.path() / "p.ids.npy");
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_THAT(ids->shape(), ElementsAre(3));
  EXPECT_THAT(*ids->As<int64_t>(), ElementsAre(-1, 7, 30));
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 2) << "no temporary file";
}

TEST(WritePredictionsTest, SeveralLabelsHaveAColumnEach) {
  const TestFolder folder;
  const Predictions labels = {
      .columns = 2, .original_ids = {30, -1, 7}, .classes = {1, 0, 0, 0, 1, 1}};
  const auto csv = folder.path() / "p.csv", npy = folder.path() / "p.npy";
  ASSERT_TRUE(WritePredictions(csv.string(), labels).ok());
  EXPECT_EQ(*ReadTextFile(csv), "original_id,prediction_0,prediction_1\n-1,0,0\n7,1,1\n30,1,0\n");
  ASSERT_TRUE(WritePredictions(npy.string(), labels).ok());
  auto array = NpyArray::Open(npy);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape(), ElementsAre(3, 3));
  EXPECT_THAT(*array->As<int64_t>(), ElementsAre(-1, 0, 0, 7, 1, 1, 30, 1, 0));
}

TEST(WritePredictionsTest, ValuesOfARegressionAreNamedSo) {
  const TestFolder folder;
  const auto path = folder.path() / "p.csv";
  const Predictions values = {
      .what = PredictWhat::kValues, .original_ids = {3, 1}, .values = {-1.5F, 2}};
  ASSERT_TRUE(WritePredictions(path.string(), values).ok());
  EXPECT_EQ(*ReadTextFile(path), "original_id,value_0\n1,2\n3,-1.5\n");
}

TEST(WritePredictionsTest, ReplacesWhatWasThereAndLeavesNothingElse) {
  const TestFolder folder;
  const auto path = folder.path() / "p.csv";
  ASSERT_TRUE(WritePredictions(path.string(), kUnsorted).ok());
  ASSERT_TRUE(WritePredictions(path.string(), {}).ok());
  EXPECT_EQ(*ReadTextFile(path), "original_id,prediction\n");
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(WritePredictionsTest, WhatAKilledProcessLeftIsRemoved) {
  const TestFolder folder;
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  ASSERT_EQ(waitpid(dead, nullptr, 0), dead);
  const auto left = folder.path() / fmt::format("p.csv.tmp-{}-0", dead);
  ASSERT_TRUE(WriteFileAtomically(left, "original_id").ok());
  ASSERT_TRUE(WritePredictions((folder.path() / "p.csv").string(), kUnsorted).ok());
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST(CheckPredictionPathTest, AMissingFolderIsNamed) {
  const TestFolder folder;
  EXPECT_TRUE(CheckPredictionPath((folder.path() / "p.csv").string()).ok());
  const Status status = CheckPredictionPath((folder.path() / "none" / "p.csv").string());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("none"));
}

TEST(CheckPredictionRoomTest, WhatDoesNotFitIsRefusedWithBothFigures) {
  const TestFolder folder;
  const std::string path = (folder.path() / "p.csv").string();
  EXPECT_TRUE(CheckPredictionRoom(path, PredictWhat::kClass, 1000, 1).ok());
  // A machine of the test has less than 2^50 bytes of either.
  const Status memory = CheckPredictionRoom(path, PredictWhat::kEmbeddings, int64_t{1} << 40, 256);
  EXPECT_EQ(memory.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(memory), testing::AllOf(HasSubstr("--predict " + path), HasSubstr("PiB"),
                                              HasSubstr("--predict-nodes test")));
}

// The file system of /proc has no room at all.
TEST(CheckPredictionRoomTest, AFullDiskIsNamedBeforeTraining) {
  const Status status = CheckPredictionRoom("/proc/p.csv", PredictWhat::kClass, 1000, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), testing::AllOf(HasSubstr("--predict /proc/p.csv"),
                                              HasSubstr("are needed, 0 B are free")));
  ScratchSpace scratch(1 << 20, "/");
  const PredictionSpool spool(PredictWhat::kLogits, 2, 1000, &scratch);
  EXPECT_EQ(Message(spool.CheckDisk("/proc/p.csv")),
            Message(CheckPredictionRoom("/proc/p.csv", PredictWhat::kLogits, 1000, 2)));
}

}  // namespace
}  // namespace halograph

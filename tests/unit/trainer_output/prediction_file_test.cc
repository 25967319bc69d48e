#include "trainer/output/prediction_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/storage/file.h"
#include "common/storage/npy.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

const std::vector<Prediction> kUnsorted = {{30, 1}, {-1, 0}, {7, 2}};

TEST(WritePredictionsTest, CsvIsSortedByOriginalIdUnderAHeader) {
  const TestFolder folder;
  const auto path = folder.path() / "p.csv";
  ASSERT_TRUE(WritePredictions(path.string(), kUnsorted).ok());
  EXPECT_EQ(*ReadTextFile(path), "original_id,prediction\n-1,0\n7,2\n30,1\n");
}

TEST(WritePredictionsTest, NpyHasTwoColumns) {
  const TestFolder folder;
  const auto path = folder.path() / "p.npy";
  ASSERT_TRUE(WritePredictions(path.string(), kUnsorted).ok());
  auto array = NpyArray::Open(path);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape(), testing::ElementsAre(3, 2));
  EXPECT_THAT(*array->As<int64_t>(), testing::ElementsAre(-1, 0, 7, 2, 30, 1));
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

TEST(CheckPredictionPathTest, AMissingFolderIsNamed) {
  const TestFolder folder;
  EXPECT_TRUE(CheckPredictionPath((folder.path() / "p.csv").string()).ok());
  const Status status = CheckPredictionPath((folder.path() / "none" / "p.csv").string());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), testing::HasSubstr("none"));
}

}  // namespace
}  // namespace halograph

#include "partitioner/methods/lp_metis/scratch_array.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::HasSubstr;

TEST(ScratchArrayTest, HoldsWhatIsWrittenAlsoWhenReleased) {
  const TestFolder folder;
  const auto array = ScratchArray<uint32_t>::Create(folder.path(), 100'000, "numbers");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->size(), 100'000);
  EXPECT_EQ(array->data()[99'999], 0U);
  for (uint32_t i = 0; i < 100'000; ++i) array->data()[i] = i * 7;
  array->Release(0, 100'000);
  for (uint32_t i = 0; i < 100'000; ++i) ASSERT_EQ(array->data()[i], i * 7);
}

TEST(ScratchArrayTest, HasNoName) {
  const TestFolder folder;
  const auto array = ScratchArray<uint64_t>::Create(folder.path(), 1000, "numbers");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ScratchArrayTest, MovesWithItsContents) {
  const TestFolder folder;
  auto array = ScratchArray<uint8_t>::Create(folder.path(), 10, "numbers");
  ASSERT_TRUE(array.ok()) << array.status();
  array->data()[3] = 42;
  ScratchArray<uint8_t> moved = std::move(array).value();
  EXPECT_EQ(moved.data()[3], 42);
  moved = ScratchArray<uint8_t>();
  EXPECT_TRUE(moved.empty());
}

TEST(ScratchArrayTest, NoElementsTakeNoFile) {
  const auto array = ScratchArray<uint32_t>::Create("/nowhere/at/all", 0, "numbers");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_TRUE(array->empty());
}

TEST(ScratchArrayTest, MoreThanTheDiskHoldsIsResourceExhaustedAndNamesWhatFor) {
  const TestFolder folder;
  const auto array = ScratchArray<uint64_t>::Create(folder.path(), int64_t{1} << 57, "numbers");
  EXPECT_TRUE(absl::IsResourceExhausted(array.status())) << array.status();
  EXPECT_THAT(Message(array.status()), HasSubstr(folder.path().string()));
  EXPECT_THAT(Message(array.status()), HasSubstr("no room for numbers"));
}

TEST(ScratchArrayTest, MissingFolderIsNotFound) {
  const TestFolder folder;
  const auto array = ScratchArray<uint32_t>::Create(folder.path() / "no", 10, "numbers");
  EXPECT_TRUE(absl::IsNotFound(array.status())) << array.status();
}

}  // namespace
}  // namespace halograph

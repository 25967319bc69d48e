#include "common/storage/scratch.h"

#include <algorithm>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/storage/temp_folder.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ScratchTest : public TempFolderTest {
 protected:
  static ScratchArray Taken(ScratchSpace& space, int64_t bytes) {
    auto array = space.Take(bytes, "rows");
    EXPECT_TRUE(array.ok()) << array.status();
    return array.ok() ? std::move(*array) : ScratchArray();
  }
};

TEST_F(ScratchTest, ArraysAreInMemoryAsLongAsTheyFitThereAndElseInFiles) {
  ScratchSpace space(10000, folder());
  ScratchArray first = Taken(space, 6000);
  const ScratchArray second = Taken(space, 6000), third = Taken(space, 4000);
  EXPECT_FALSE(first.in_file());
  EXPECT_TRUE(second.in_file());
  EXPECT_FALSE(third.in_file());
  EXPECT_EQ(space.bytes_in_files(), 6000);
  first = ScratchArray();
  EXPECT_FALSE(Taken(space, 6000).in_file()) << "its room was not given back";
  EXPECT_EQ(Taken(space, 0).bytes().size(), 0U);
}

TEST_F(ScratchTest, BothKindsBeginWithZerosAndKeepWhatIsWritten) {
  for (const int64_t memory : {0, 1 << 20}) {
    ScratchSpace space(memory, folder());
    ScratchArray array = Taken(space, 9000);
    EXPECT_EQ(array.in_file(), memory == 0);
    EXPECT_TRUE(std::all_of(array.bytes().begin(), array.bytes().end(),
                            [](std::byte value) { return value == std::byte{0}; }));
    array.As<int32_t>()[2249] = 7;
    const ScratchArray moved = std::move(array);
    EXPECT_EQ(moved.As<int32_t>()[2249], 7);
    EXPECT_EQ(moved.As<const int64_t>().size(), 1125U);
  }
}

TEST_F(ScratchTest, FilesHaveNoNamesWhileTheyAreThere) {
  ScratchSpace space(0, folder());
  const ScratchArray array = Taken(space, 5000);
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(ScratchTest, WhatTheDiskHasNoRoomForIsRefusedByFigures) {
  ScratchSpace space(0, folder());
  EXPECT_THAT(Message(space.Take(int64_t{1} << 60, "rows of layer 1").status()),
              AllOf(HasSubstr(folder().string()), HasSubstr("1.0 EiB")));
  ScratchSpace nowhere(0, folder() / "none");
  EXPECT_THAT(Message(nowhere.Take(5000, "rows").status()), HasSubstr("none"));
}

TEST_F(ScratchTest, TheDiskIsAskedForWhatArraysTakeTwoAtATime) {
  constexpr int64_t kMuch = int64_t{1} << 60;
  const ScratchSpace space(1000, folder());
  EXPECT_TRUE(space.Check(std::vector<int64_t>{900, 4000, 100}).ok());
  EXPECT_FALSE(space.Check(std::vector<int64_t>{900, kMuch, 100}).ok());
  EXPECT_TRUE(ScratchSpace(kMuch, folder()).Check(std::vector<int64_t>{900, kMuch - 900}).ok());
  EXPECT_FALSE(ScratchSpace(kMuch, folder()).Check(std::vector<int64_t>{901, kMuch - 900}).ok());
}

}  // namespace
}  // namespace halograph

#include "partitioner/write/csc_files.h"

#include <gmock/gmock.h>

#include "common/storage/npy.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::ElementsAre;

class CscFilesTest : public testing::Test {
 protected:
  // Three nodes with the in-edges {4, 2, 4, 4, 2}, {} and {2, 3}.
  CscFiles Make() {
    auto create = [&](const char* name, DType dtype, int64_t rows) {
      auto npy = MappedNpy::Create(folder_.path() / name, dtype, rows);
      EXPECT_TRUE(npy.ok()) << npy.status();
      return std::move(npy).value();
    };
    CscFiles files{create("indptr.npy", DType::kInt64, 4), create("indices.npy", DType::kUInt32, 7),
                   create("original_ids.npy", DType::kInt64, 7)};
    const std::vector<int64_t> indptr = {0, 5, 5, 7};
    const std::vector<uint32_t> indices = {4, 2, 4, 4, 2, 2, 3};
    std::copy(indptr.begin(), indptr.end(), files.indptr.As<int64_t>());
    std::copy(indices.begin(), indices.end(), files.indices.As<uint32_t>());
    for (int64_t i = 0; i < 7; ++i) files.original_ids.As<int64_t>()[i] = 100 + i;
    return files;
  }

  template <typename T>
  std::vector<T> Read(const char* name) {
    const auto array = NpyArray::Open(folder_.path() / name);
    EXPECT_TRUE(array.ok()) << array.status();
    const auto values = array->As<T>();
    return {values->begin(), values->end()};
  }

  TestFolder folder_;
};

TEST_F(CscFilesTest, DroppedDuplicatesLeaveTheFirstIds) {
  CscFiles files = Make();
  const auto found = FindDuplicates<uint32_t>(&files, true);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, 3);
  ASSERT_TRUE(files.Close().ok());
  EXPECT_THAT(Read<int64_t>("indptr.npy"), ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(Read<uint32_t>("indices.npy"), ElementsAre(4, 2, 2, 3));
  EXPECT_THAT(Read<int64_t>("original_ids.npy"), ElementsAre(100, 101, 105, 106));
}

TEST_F(CscFilesTest, KeptDuplicatesAreOnlyCounted) {
  CscFiles files = Make();
  const auto found = FindDuplicates<uint32_t>(&files, false);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, 3);
  ASSERT_TRUE(files.Close().ok());
  EXPECT_THAT(Read<int64_t>("indptr.npy"), ElementsAre(0, 5, 5, 7));
  EXPECT_THAT(Read<uint32_t>("indices.npy"), ElementsAre(4, 2, 4, 4, 2, 2, 3));
}

}  // namespace
}  // namespace halograph

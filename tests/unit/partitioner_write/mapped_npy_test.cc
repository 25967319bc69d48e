#include "partitioner/write/mapped_npy.h"

#include <csignal>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "common/storage/npy.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> ReadBack(const std::filesystem::path& path) {
  const auto array = NpyArray::Open(path);
  EXPECT_TRUE(array.ok()) << array.status();
  const auto values = array->As<int64_t>();
  EXPECT_TRUE(values.ok()) << values.status();
  return {values->begin(), values->end()};
}

// Lets no file of this process grow beyond `bytes` while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    previous_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &previous_);
    rlimit limit = previous_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }

 private:
  rlimit previous_{};
  void (*previous_handler_)(int);
};

TEST(MappedNpyTest, WhatIsWrittenInAnyOrderIsReadBack) {
  const TestFolder folder;
  const auto path = folder.path() / "deep" / "er" / "ids.npy";
  auto npy = MappedNpy::Create(path, DType::kInt64, 4);
  ASSERT_TRUE(npy.ok()) << npy.status();
  for (const int i : {3, 0, 2, 1}) npy->As<int64_t>()[i] = i * 10;
  ASSERT_TRUE(npy->Close().ok());
  EXPECT_THAT(ReadBack(path), ElementsAre(0, 10, 20, 30));
}

TEST(MappedNpyTest, DataOfAMatrixIsAlignedAndHasItsShape) {
  const TestFolder folder;
  auto npy = MappedNpy::Create(folder.path() / "m.npy", DType::kFloat32, 3, 5, 2);
  ASSERT_TRUE(npy.ok()) << npy.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(npy->data()) % 64, 0U);
  EXPECT_EQ(npy->row_bytes(), 20U);
  ASSERT_TRUE(npy->Close().ok());
  const auto array = NpyArray::Open(folder.path() / "m.npy");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape(), ElementsAre(3, 5));
}

TEST(MappedNpyTest, NoRowsIsAFileToo) {
  const TestFolder folder;
  auto npy = MappedNpy::Create(folder.path() / "none.npy", DType::kInt64, 0);
  ASSERT_TRUE(npy.ok()) << npy.status();
  ASSERT_TRUE(npy->Close().ok());
  EXPECT_THAT(ReadBack(folder.path() / "none.npy"), ElementsAre());
}

TEST(MappedNpyTest, ReleasedRowsKeepWhatWasWritten) {
  const TestFolder folder;
  constexpr int64_t kRows = 4 << 20;  // 32 MiB: several releases
  auto npy = MappedNpy::Create(folder.path() / "ids.npy", DType::kInt64, kRows);
  ASSERT_TRUE(npy.ok()) << npy.status();
  for (int64_t row = 0; row < kRows; ++row) {
    npy->As<int64_t>()[row] = row * 3;
    if (row % 4096 == 0) npy->ReleaseBefore(row);
  }
  ASSERT_TRUE(npy->Close().ok());
  const std::vector<int64_t> values = ReadBack(folder.path() / "ids.npy");
  for (int64_t row = 0; row < kRows; ++row) ASSERT_EQ(values[row], row * 3);
}

TEST(MappedNpyTest, ExistingFileIsNotTouched) {
  const TestFolder folder;
  ASSERT_TRUE(WriteNpy<int64_t>(folder.path() / "ids.npy", std::vector<int64_t>{7}).ok());
  const auto npy = MappedNpy::Create(folder.path() / "ids.npy", DType::kInt64, 1);
  EXPECT_TRUE(absl::IsAlreadyExists(npy.status())) << npy.status();
  EXPECT_THAT(ReadBack(folder.path() / "ids.npy"), ElementsAre(7));
}

TEST(MappedNpyTest, NoRoomIsResourceExhaustedAndNamesPathAndBytes) {
  const TestFolder folder;
  const FileSizeLimit limit(rlim_t{1} << 20);
  const auto npy = MappedNpy::Create(folder.path() / "large.npy", DType::kInt64, 1 << 20);
  EXPECT_TRUE(absl::IsResourceExhausted(npy.status())) << npy.status();
  EXPECT_THAT(Message(npy.status()), HasSubstr("large.npy"));
  EXPECT_THAT(Message(npy.status()), HasSubstr("8.0 MiB"));
}

}  // namespace
}  // namespace halograph

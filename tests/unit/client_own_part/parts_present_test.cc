#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/own_part/own_parts.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PartsPresentTest, ListsPartsByNumberAndNothingElse) {
  const TestFolder folder;
  for (const char* name : {"part-0010", "part-0002", "part-0003.tmp", "part-4", "part--001",
                           "part-", "nodes", "part-0001x"}) {
    std::filesystem::create_directory(folder.path() / name);
  }
  const auto parts = PartsPresent(folder.path());
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_THAT(*parts, ElementsAre(2, 10));
}

TEST(PartsPresentTest, AFolderWithoutPartsIsNotFoundNamingIt) {
  const TestFolder folder;
  for (const auto& path : {folder.path(), folder.path() / "none"}) {
    const auto parts = PartsPresent(path);
    EXPECT_EQ(parts.status().code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(Message(parts.status()), HasSubstr(path.string()));
  }
}

}  // namespace
}  // namespace halograph

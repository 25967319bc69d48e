#include "common/program/address_file.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "common/storage/file.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

class AddressFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<AddressFile> Written(const std::string& address) const {
    StatusOr<std::unique_ptr<AddressFile>> file = AddressFile::Write(path_, address);
    EXPECT_TRUE(file.ok()) << Message(file.status());
    return file.ok() ? *std::move(file) : nullptr;
  }
  [[nodiscard]] std::string Text() const {
    return ReadTextFile(path_).value_or("(there is no file)");
  }

  TestFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "address";
};

TEST_F(AddressFileTest, HoldsExactlyTheAddressUntilItsEnd) {
  const std::unique_ptr<AddressFile> old = Written("127.0.0.1:1");
  std::unique_ptr<AddressFile> file = Written("[::1]:7000");
  EXPECT_EQ(Text(), "[::1]:7000");
  file.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(AddressFileTest, AnotherProgramsAddressStays) {
  std::unique_ptr<AddressFile> file = Written("127.0.0.1:1");
  ASSERT_TRUE(WriteFileAtomically(path_, "10.0.0.1:1").ok());
  file.reset();
  EXPECT_EQ(Text(), "10.0.0.1:1");
}

TEST_F(AddressFileTest, NothingIsWrittenWithoutAPath) {
  const StatusOr<std::unique_ptr<AddressFile>> file = AddressFile::Write("", "127.0.0.1:1");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file, nullptr);
}

TEST_F(AddressFileTest, AFolderThatIsMissingIsNamed) {
  const auto file = AddressFile::Write(folder_.path() / "none" / "address", "127.0.0.1:1");
  EXPECT_THAT(Message(file.status()), testing::HasSubstr("none"));
}

}  // namespace
}  // namespace halograph

#include "common/http/http_options.h"

#include <gmock/gmock.h>

namespace halograph {
namespace {

using testing::HasSubstr;

class HttpOptionsTest : public testing::Test {
 protected:
  HttpOptionsTest() { AddHttpRows(rows_, &options_); }

  HttpOptions options_;
  OptionTable rows_;
};

TEST_F(HttpOptionsTest, ByDefaultThereIsNoPort) {
  EXPECT_TRUE(rows_.CheckNames().ok());
  EXPECT_TRUE(rows_.Validate().ok());
  EXPECT_TRUE(options_.Validate().ok());
  EXPECT_EQ(options_.listen, "");
}

TEST_F(HttpOptionsTest, RowsReadTheFields) {
  for (const auto& [name, text] : {std::pair("http-listen", "[::1]:0"),
                                   {"http-address-file", "a"},
                                   {"http-token-file", "t"}}) {
    EXPECT_TRUE(rows_.Set(name, text).ok());
  }
  EXPECT_EQ(options_.listen, "[::1]:0");
  EXPECT_EQ(options_.address_file, "a");
  EXPECT_EQ(options_.token_file, "t");
  EXPECT_TRUE(options_.Validate().ok());
}

TEST_F(HttpOptionsTest, AnAddressWithoutAPortIsWrongUsage) {
  for (const char* text : {"7000", "localhost", "::1:7000", "a:70000"}) {
    const Status status = rows_.Set("http-listen", text);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(Message(status), HasSubstr("--http-listen"));
  }
}

TEST_F(HttpOptionsTest, TheOthersAreNothingWithoutAPort) {
  options_.address_file = "a";
  EXPECT_TRUE(absl::IsInvalidArgument(options_.Validate()));
  EXPECT_THAT(Message(options_.Validate()), HasSubstr("--http-address-file a"));
  EXPECT_THAT(Message(options_.Validate()), HasSubstr("--http-listen"));
  options_ = {.listen = "", .address_file = "", .token_file = "t"};
  EXPECT_THAT(Message(options_.Validate()), HasSubstr("--http-token-file t"));
}

}  // namespace
}  // namespace halograph

#include "client/remote_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RemoteOptions Valid() {
  RemoteOptions options;
  options.servers = {"localhost:1", "[::1]:2"};
  return options;
}

void ExpectInvalid(const RemoteOptions& options, const std::string& text) {
  const Status status = options.Validate();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr(text));
}

TEST(RemoteOptionsTest, DefaultsAreValid) { EXPECT_TRUE(Valid().Validate().ok()); }

TEST(RemoteOptionsTest, ServersMustBeGivenOnceAsHostAndPort) {
  RemoteOptions options;
  ExpectInvalid(options, "no servers");
  for (const char* wrong : {"", "host", ":1", "host:", "host:x", "host:0", "host:65536"}) {
    options.servers = {wrong};
    ExpectInvalid(options, "is not HOST:PORT");
  }
  options.servers = {"a:1", "b:1", "a:1"};
  ExpectInvalid(options, "'a:1' is listed twice");
  options.servers = {"::1:7000", "[::1]:7000"};
  ExpectInvalid(options, "'[::1]:7000' is listed twice");
}

TEST(RemoteOptionsTest, TheRowTakesBlanksAndIpv6WithBracketsAndWithout) {
  RemoteOptions options;
  OptionTable rows;
  AddServersRow(rows, &options, "");
  ASSERT_TRUE(rows.Set("servers", "a:1, b:2 ,::1:7000,[::1]:7001").ok());
  EXPECT_THAT(options.servers, ElementsAre("a:1", "b:2", "[::1]:7000", "[::1]:7001"));
  EXPECT_EQ(rows.ToJson()["servers"].size(), 4U);
  EXPECT_THAT(Message(rows.Set("servers", "a:1,,b:2")),
              HasSubstr("--servers: '' is not HOST:PORT"));
  EXPECT_THAT(Message(rows.Set("servers", "a:1,a b:2")), HasSubstr("'a b' is neither"));
  EXPECT_EQ(options.servers.size(), 4U) << "as before";
}

TEST(RemoteOptionsTest, PullsOfAColumnNeedColumns) {
  RemoteOptions options = Valid();
  options.columns = true;
  EXPECT_TRUE(options.Validate().ok());
  options.column_pulls = true;
  EXPECT_TRUE(options.Validate().ok());
  options.columns = false;
  ExpectInvalid(options, "--column-pulls needs --columns");
}

TEST(RemoteOptionsTest, NumbersOutOfRangeAreNamed) {
  RemoteOptions options = Valid();
  options.timeout = std::chrono::nanoseconds(0);
  ExpectInvalid(options, "--timeout is 0s, expected 1ms to 86400s");
  options = Valid();
  options.max_message_bytes = 4095;
  ExpectInvalid(options, "--max-message-bytes is 4095, expected 4KiB to 1GiB");
  options.max_message_bytes = int64_t{1} << 31;
  ExpectInvalid(options, "--max-message-bytes is 2GiB");
  options = Valid();
  options.channels_per_server = 0;
  ExpectInvalid(options, "--channels-per-server is 0");
  options = Valid();
  options.calls_in_flight = 0;
  ExpectInvalid(options, "--calls-in-flight is 0");
}

}  // namespace
}  // namespace halograph

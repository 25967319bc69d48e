#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace halograph::server {
namespace {

using testing::HasSubstr;

ServerOptions Valid() {
  ServerOptions options;
  options.graph = "graph";
  return options;
}

TEST(ServerOptionsTest, DefaultsAreValid) {
  EXPECT_TRUE(Valid().Validate().ok());
  EXPECT_GE(Valid().NumThreads(), 1);
  EXPECT_EQ(Valid().RequestMemory() + Valid().ReplyMemory(), 64 << 20);
}

TEST(ServerOptionsTest, EachValueOutOfBoundsIsNamed) {
  ServerOptions options = Valid();
  options.graph.clear();
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--graph"));
  options = Valid();
  options.threads = -1;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--threads is -1, expected 0 to 1024"));
  options = Valid();
  options.queue = 0;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--queue is 0"));
  options = Valid();
  options.state_threads = 0;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--state-threads is 0"));
  options = Valid();
  options.state_queue = 0;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--state-queue is 0"));
  options = Valid();
  options.state.log_bytes = 1 << 20;
  EXPECT_THAT(Message(options.Validate()),
              HasSubstr("--state-log-bytes is 1MiB, expected at least 128MiB"));
  EXPECT_EQ(options.State().log_bytes, 1 << 20);
  options = Valid();
  options.max_message_bytes = 1000;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--max-message-bytes is 1000"));
  options = Valid();
  options.reply_memory = 1 << 20;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--reply-memory is 1048576"));
  options = Valid();
  options.drain_timeout = std::chrono::seconds(-1);
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--drain-timeout"));
  options = Valid();
  options.drain_delay = std::chrono::hours(2);
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--drain-delay is 7200s"));
}

TEST(ServerOptionsTest, OthersCallWhatIsAdvertised) {
  ServerOptions options = Valid();
  char name[256] = "";
  ASSERT_EQ(gethostname(name, sizeof(name)), 0);
  EXPECT_EQ(options.Advertised("127.0.0.1:7000").value(), "127.0.0.1:7000");
  EXPECT_EQ(options.Advertised("0.0.0.0:7000").value(), fmt::format("{}:7000", name));
  EXPECT_EQ(options.Advertised("[::]:7000").value(), fmt::format("{}:7000", name));
  options.advertise = "node7";
  EXPECT_EQ(options.Advertised("[::]:7000").value(), "node7:7000");
  options.advertise = "[fe80::1]:80";
  EXPECT_EQ(options.Advertised("127.0.0.1:7000").value(), "[fe80::1]:80");
  for (const char* wrong : {"0.0.0.0", "a b", "node7:0", "::1:7000"}) {
    options.advertise = wrong;
    EXPECT_THAT(Message(options.Validate()), HasSubstr("--advertise: '")) << wrong;
  }
}

TEST(ServerOptionsTest, MemoryGrowsWithTheMessages) {
  ServerOptions options = Valid();
  options.max_message_bytes = 64 << 20;
  EXPECT_TRUE(options.Validate().ok());
  EXPECT_EQ(options.ReplyMemory(), 4 * options.max_message_bytes);
}

TEST(ParsePartsTest, ReadsListsAndAll) {
  EXPECT_EQ(ParseParts("all").value(), std::vector<int>{});
  EXPECT_EQ(ParseParts("3").value(), std::vector<int>{3});
  EXPECT_EQ(ParseParts("2,0").value(), (std::vector<int>{2, 0}));
}

TEST(ParsePartsTest, RefusesAnythingElse) {
  for (const char* text : {"", "one", "1,", ",1", "1,1", "-1", "1 2", "99999999999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseParts(text).status())) << text;
  }
}

TEST(ServeTest, AllOrFeatures) {
  EXPECT_TRUE(ParseServe("all")->topology);
  EXPECT_TRUE(ParseServe("all")->features);
  EXPECT_FALSE(ParseServe("features")->topology);
  EXPECT_TRUE(ParseServe("features")->features);
  const Status status = ParseServe("topology").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Message(status).find("'topology'"), std::string::npos);
}

}  // namespace
}  // namespace halograph::server

#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/host_port.h"
#include "tests/support/captured_log.h"

namespace halograph::server {
namespace {

using testing::AllOf;
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
  options.state.tensors = 0;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--state-tensors is 0, expected at least 1"));
  options.state.tensors = 7;
  options.state.snapshots = 0;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--state-snapshots is 0"));
  options.state.clients = 5;
  options.state.client_age = std::chrono::minutes(3);
  EXPECT_EQ(options.State().max_registered_clients, 5);
  EXPECT_EQ(options.State().client_age_s, 180);
  EXPECT_EQ(options.State().max_tensors, 7);
  EXPECT_EQ(options.State().max_snapshots, 0);
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

// Documents say so, and clients count on it.
TEST(ServerOptionsTest, BoundsOfTheStateHaveTheirDefaults) {
  ServerOptions options = Valid();
  EXPECT_EQ(options.State().max_tensors, 10'000);
  EXPECT_EQ(options.State().max_snapshots, 256);
  EXPECT_EQ(options.State().max_registered_clients, 65'536);
  EXPECT_EQ(options.State().client_age_s, 7 * 24 * 3600);
  EXPECT_EQ(options.State().client_pushes, 1'000'000);
  OptionTable rows;
  AddServerOptions(rows, &options);
  EXPECT_EQ(rows.Find("state-tensors")->default_text(), "10000");
  EXPECT_EQ(rows.Find("state-snapshots")->default_text(), "256");
  EXPECT_EQ(rows.Find("state-clients")->default_text(), "65536");
  EXPECT_EQ(rows.Find("client-age")->default_text(), "604800s");
  EXPECT_THAT(rows.Find("client-age")->help(), HasSubstr("1,000,000 pushes"));
  EXPECT_EQ(rows.Find("state-waiting")->default_text(),
            "a quarter of --state-memory, at least 64MiB");
}

TEST(ServerOptionsTest, PushesThatWaitHaveAQuarterOfTheMemoryAndAtLeast64MiB) {
  ServerOptions options = Valid();
  const auto waiting = [&](std::string_view memory) {
    OptionTable rows;
    AddServerOptions(rows, &options);
    EXPECT_TRUE(rows.Set("state-memory", memory).ok());
    return options.State().max_waiting_bytes;
  };
  EXPECT_EQ(options.State().max_waiting_bytes, int64_t{1} << 30) << "of 4 GiB";
  EXPECT_EQ(waiting("16GiB"), int64_t{4} << 30);
  EXPECT_EQ(waiting("257MiB"), 257 << 18);
  EXPECT_EQ(waiting("256MiB"), 64 << 20);
  EXPECT_EQ(waiting("1MiB"), 64 << 20);
  options.state.waiting = 5 << 20;  // --state-waiting 5MiB
  EXPECT_EQ(waiting("16GiB"), 5 << 20);
}

// What others are told of a server at `listen` on that machine, and what the log says of it.
std::string ToldOthers(const std::string& listen, const MachineNames& machine, std::string* log) {
  CapturedLog captured;
  const auto told = Valid().Advertised(listen, [&](std::string_view) { return machine; });
  *log = captured.End();
  return told.ok() ? *told : ToString(told.status());
}

TEST(ServerOptionsTest, AMachineWithoutAUsableNameIsCalledByItsAddress) {
  std::string log;
  EXPECT_EQ(ToldOthers("0.0.0.0:70", {"node7", true, {"10.0.0.7"}}, &log), "node7:70");
  EXPECT_EQ(log, "");
  for (const char* name : {"", "node7", "localhost", "(no ne)"}) {
    const bool resolves = name[0] != '\0' && name != std::string("node7");
    for (const auto& [addresses, told] :
         std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"10.0.0.7", "fd00::7"}, "10.0.0.7:70"},
             {{"fd00::7"}, "[fd00::7]:70"},
             {{}, "127.0.0.1:70"}}) {
      EXPECT_EQ(ToldOthers("[::]:70", {name, resolves, addresses}, &log), told) << name;
      EXPECT_THAT(log, HasSubstr("this machine"));
      EXPECT_THAT(
          log, HasSubstr(fmt::format(
                   "others are told {}; if they do not reach that, give --advertise HOST", told)));
    }
  }
}

TEST(ServerOptionsTest, AnAddressOfThisMachineIsOneThatCanBeCalled) {
  for (const char* wildcard : {"0.0.0.0", "::"}) {
    for (const std::string& address : ThisMachine(wildcard).addresses) {
      EXPECT_FALSE(IsLoopback(address)) << address;
      EXPECT_FALSE(IsWildcard(address)) << address;
      EXPECT_TRUE(ParseHost(address).ok()) << address;
      const bool ipv6 = address.find(':') != std::string::npos;
      EXPECT_FALSE(ipv6 && wildcard == std::string("0.0.0.0")) << address;
    }
  }
}

TEST(ServerOptionsTest, OthersCallWhatIsAdvertised) {
  ServerOptions options = Valid();
  char name[256] = "";
  ASSERT_EQ(gethostname(name, sizeof(name)), 0);
  const auto resolved = [&name](std::string_view) {
    return MachineNames{.name = name, .resolves = true, .addresses = {"10.0.0.7"}};
  };
  EXPECT_EQ(ThisMachine("0.0.0.0").name, name);
  EXPECT_EQ(options.Advertised("127.0.0.1:7000").value(), "127.0.0.1:7000");
  EXPECT_EQ(options.Advertised("0.0.0.0:7000", resolved).value(), fmt::format("{}:7000", name));
  EXPECT_EQ(options.Advertised("[::]:7000", resolved).value(), fmt::format("{}:7000", name));
  options.advertise = "node7";
  EXPECT_EQ(options.Advertised("[::]:7000").value(), "node7:7000");
  options.advertise = "[fe80::1]:80";
  EXPECT_EQ(options.Advertised("127.0.0.1:7000").value(), "[fe80::1]:80");
  for (const char* wrong : {"0.0.0.0", "a b", "node7:0", "::1:7000"}) {
    options.advertise = wrong;
    EXPECT_THAT(Message(options.Validate()), HasSubstr("--advertise: '")) << wrong;
  }
}

TEST(ServerOptionsTest, BeyondLoopbackNothingStartsWithoutTlsOrAWord) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "10.0.0.7:7000", "node7:7000"}) {
    ServerOptions options = Valid();
    options.listen = address;
    EXPECT_THAT(Message(options.Validate()),
                AllOf(HasSubstr(address), HasSubstr("--tls-dir"), HasSubstr("--insecure")));
    options.insecure = true;
    EXPECT_EQ(Message(options.Validate()), "");
    options.tls.folder = "d";
    EXPECT_THAT(Message(options.Validate()), HasSubstr("--insecure is for servers without TLS"));
    options.insecure = false;
    EXPECT_EQ(Message(options.Validate()), "");
  }
  ServerOptions options = Valid();
  EXPECT_EQ(options.ConnectionAge(), std::chrono::minutes(30));
  EXPECT_TRUE(options.Reflects());
  options.tls_clients = ClientCertificates::kOptional;
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--tls-clients says nothing without TLS"));
  options.tls.roots = "a";
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--tls-cert and --tls-key are missing"));
  options.tls = {.folder = "d"};
  EXPECT_EQ(options.ConnectionAge(), std::chrono::minutes(10));
  EXPECT_FALSE(options.Reflects());
  options.connection_age = std::chrono::seconds(3);
  options.reflection = Reflection::kOn;
  EXPECT_EQ(options.ConnectionAge(), std::chrono::seconds(3));
  EXPECT_TRUE(options.Reflects());
}

// test_connections.py has a server with fewer descriptors.
TEST(ServerOptionsTest, ConnectionsAreAsManyAsDescriptorsAllowAnd4096AtMost) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 1024) GTEST_SKIP() << "the limit of descriptors is below 1,024";
  const auto with = [&](rlim_t descriptors) {
    const rlimit limit{std::min(descriptors, before.rlim_max), before.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return ServerOptions{}.Connections();
  };
  EXPECT_EQ(with(1024), 768);
  const auto most = static_cast<int64_t>(std::min<rlim_t>(before.rlim_max, 1 << 20));
  EXPECT_EQ(with(1 << 20), std::min<int64_t>(most - 256, 4096));
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
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

#include "common/base/host_port.h"

#include <gmock/gmock.h>

namespace halograph {
namespace {

using testing::HasSubstr;

TEST(ParseHostPortTest, ReadsNamesAndAddresses) {
  EXPECT_EQ(ParseHostPort("localhost:7000")->port, 7000);
  EXPECT_EQ(ParseHostPort("[::1]:0")->host, "::1");
  EXPECT_EQ(ToString(ParseHostPort("[::1]:5").value()), "[::1]:5");
  EXPECT_EQ(ToString(ParseHostPort("10.0.0.1:5").value()), "10.0.0.1:5");
}

TEST(ParseHostPortTest, RefusesAnythingElse) {
  for (const char* text :
       {"", "localhost", ":80", "host:", "host:x", "host:65536", "::1:80", "h:-1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseHostPort(text).status())) << text;
  }
}

TEST(ParseServerAddressTest, RefusesAPortThatNobodyCanCall) {
  EXPECT_EQ(ParseServerAddress("[::1]:7000")->port, 7000);
  for (const char* text : {"localhost:0", "xyz", ""}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseServerAddress(text).status())) << text;
  }
}

TEST(ParseServerAddressTest, TakesIpv6WithoutBracketsAndThePortBehindTheLastColon) {
  EXPECT_EQ(ToString(ParseServerAddress("::1:7000").value()), "[::1]:7000");
  EXPECT_EQ(ToString(ParseServerAddress("fe80::1%eth0:80").value()), "[fe80::1%eth0]:80");
  for (const char* text : {"::1", "fe80::1", "1:2:3:4:5:6:7:8", "http://a:80", "a:b:80"}) {
    EXPECT_THAT(Message(ParseServerAddress(text).status()), HasSubstr("[::1]:7000")) << text;
  }
}

TEST(ParseServerAddressTest, BlanksAroundDoNotCountAndWithinAreNoHost) {
  EXPECT_EQ(ToString(ParseServerAddress(" b:7001\t").value()), "b:7001");
  EXPECT_THAT(Message(ParseServerAddress("a b:7001").status()),
              HasSubstr("'a b' is neither a host's name nor its address"));
  for (const char* text : {"[localhost]:1", "[::1:1", "::1]:1", "[]:1", "a/b:1", "  "}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseServerAddress(text).status())) << text;
  }
}

TEST(ParseAdvertisedTest, ThePortMayBeLeftOut) {
  EXPECT_EQ(ToString(ParseAdvertised("node7").value()), "node7:0");
  EXPECT_EQ(ToString(ParseAdvertised("node7:80").value()), "node7:80");
  EXPECT_EQ(ToString(ParseAdvertised("[::1]").value()), "[::1]:0");
  EXPECT_EQ(ToString(ParseAdvertised("[::1]:80").value()), "[::1]:80");
  for (const char* text : {"node7:0", "node7:", "0.0.0.0", "[::]:80", "[0:0::0]", "0", "", "a b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseAdvertised(text).status())) << text;
  }
  for (const char* text : {"::1:7000", "fe80::abcd"}) {  // with a port, or without
    EXPECT_THAT(Message(ParseAdvertised(text).status()), HasSubstr("in brackets")) << text;
  }
}

TEST(ParseHostTest, TakesIpv6WithBracketsAndWithout) {
  for (const char* text : {"::1", "[::1]", " ::1 "}) EXPECT_EQ(ParseHost(text).value(), "::1");
  EXPECT_EQ(ParseHost("node_7.rack-2").value(), "node_7.rack-2");
  for (const char* text : {"", "node7:80", "[::1]:80", "[node7]", "a b", "[::1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseHost(text).status())) << text;
  }
}

TEST(IsWildcardTest, KnowsTheAddressesOfAllInterfaces) {
  for (const char* host : {"0.0.0.0", "::", "0::0", "0"}) EXPECT_TRUE(IsWildcard(host)) << host;
  for (const char* host : {"127.0.0.1", "::1", "node7"}) EXPECT_FALSE(IsWildcard(host)) << host;
}

TEST(IsLoopbackTest, KnowsThisMachineOnly) {
  EXPECT_TRUE(IsLoopback("127.0.0.1") && IsLoopback("127.1.2.3") && IsLoopback("::1") &&
              IsLoopback("localhost"));
  EXPECT_FALSE(IsLoopback("0.0.0.0") || IsLoopback("::") || IsLoopback("10.0.0.1"));
}

}  // namespace
}  // namespace halograph

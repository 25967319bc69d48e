#include "common/base/host_port.h"

#include <gtest/gtest.h>

namespace halograph {
namespace {

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

TEST(IsLoopbackTest, KnowsThisMachineOnly) {
  EXPECT_TRUE(IsLoopback("127.0.0.1") && IsLoopback("127.1.2.3") && IsLoopback("::1") &&
              IsLoopback("localhost"));
  EXPECT_FALSE(IsLoopback("0.0.0.0") || IsLoopback("::") || IsLoopback("10.0.0.1"));
}

}  // namespace
}  // namespace halograph

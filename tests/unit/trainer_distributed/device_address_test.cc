#include "trainer/distributed/device_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(LocalAddressTowardsTest, LoopbackIsReachedFromLoopback) {
  auto address = LocalAddressTowards("127.0.0.1", 29500);
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(*address, "127.0.0.1");
}

TEST(LocalAddressTowardsTest, AnUnknownHostIsNamed) {
  const Status status = LocalAddressTowards("no such host", 29500).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), testing::HasSubstr("no such host"));
}

}  // namespace
}  // namespace halograph

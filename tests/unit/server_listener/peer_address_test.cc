#include "server/listener/peer_address.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>

namespace halograph::server {
namespace {

using testing::HasSubstr;

PeerAddress Ipv4(const char* text, int port) {
  sockaddr_storage end{};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(end);
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(inet_pton(AF_INET, text, &ipv4.sin_addr), 1);
  return ToPeerAddress(end).value();
}

PeerAddress Ipv6(const char* text, int port, uint32_t zone = 0) {
  sockaddr_storage end{};
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(end);
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(static_cast<uint16_t>(port));
  ipv6.sin6_scope_id = zone;
  EXPECT_EQ(inet_pton(AF_INET6, text, &ipv6.sin6_addr), 1);
  return ToPeerAddress(end).value();
}

TEST(PeerAddressTest, NamesAreThoseOfGrpc) {
  EXPECT_EQ(Ipv4("10.0.0.7", 7000).name, "ipv4:10.0.0.7:7000");
  EXPECT_EQ(Ipv6("::ffff:10.0.0.7", 7000).name, "ipv4:10.0.0.7:7000");
  EXPECT_EQ(Ipv6("fd00::7", 7000).name, "ipv6:%5Bfd00::7%5D:7000");
  EXPECT_EQ(Ipv6("fe80::7", 7000, 2).name, "ipv6:%5Bfe80::7%252%5D:7000");
  EXPECT_EQ(Ipv4("10.0.0.7", 1).address, Ipv6("::ffff:10.0.0.7", 2).address);
}

TEST(PeerAddressTest, LoopbackIsSeenInEveryForm) {
  EXPECT_TRUE(Ipv4("127.0.0.1", 1).loopback);
  EXPECT_TRUE(Ipv4("127.9.8.7", 1).loopback);
  EXPECT_TRUE(Ipv6("::1", 1).loopback);
  EXPECT_TRUE(Ipv6("::ffff:127.0.0.1", 1).loopback);
  EXPECT_FALSE(Ipv4("128.0.0.1", 1).loopback);
  EXPECT_FALSE(Ipv6("::2", 1).loopback);
}

TEST(PeerAddressTest, OtherFamiliesHaveNone) {
  sockaddr_storage end{};
  end.ss_family = AF_UNIX;
  EXPECT_FALSE(ToPeerAddress(end).has_value());
}

// A host has as many IPv6 addresses as it likes.
TEST(PeerAddressTest, AGroupIsAWholeIpv4AndHalfOfAnIpv6Address) {
  const AddressBytes ipv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7};
  EXPECT_EQ(GroupOf(ipv4), ipv4);
  const AddressBytes ipv6 = {0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(GroupOf(ipv6), (AddressBytes{0xfd, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(AddressRangesTest, ContainsWhatItsRangesDo) {
  const std::vector<std::string> texts = {" 10.1.0.0/16", "192.168.7.9", "fd00::/8", "::1 "};
  const auto ranges = AddressRanges::Parse(texts);
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  for (const char* in : {"10.1.0.0", "10.1.255.255", "192.168.7.9"}) {
    EXPECT_TRUE(ranges->Contains(Ipv4(in, 1).address)) << in;
  }
  for (const char* out : {"10.2.0.0", "10.0.255.255", "192.168.7.8", "0.0.0.1"}) {
    EXPECT_FALSE(ranges->Contains(Ipv4(out, 1).address)) << out;
  }
  EXPECT_TRUE(ranges->Contains(Ipv6("fdff::1", 1).address));
  EXPECT_TRUE(ranges->Contains(Ipv6("::1", 1).address));
  EXPECT_FALSE(ranges->Contains(Ipv6("fe00::1", 1).address));
  EXPECT_FALSE(AddressRanges().Contains(Ipv4("10.1.0.0", 1).address));
  const std::vector<std::string> all = {"0.0.0.0/0"};
  EXPECT_TRUE(AddressRanges::Parse(all)->Contains(Ipv4("8.8.8.8", 1).address));
  EXPECT_FALSE(AddressRanges::Parse(all)->Contains(Ipv6("fd00::1", 1).address));
}

TEST(AddressRangesTest, WhatIsNoRangeIsInvalidAndSaysWhatToWrite) {
  for (const char* text : {"", "localhost", "10.0.0/8", "10.0.0.0/33", "10.0.0.0/", "::/129",
                           "10.0.0.0/8x", "10.0.0.0/-1"}) {
    const std::vector<std::string> texts = {"127.0.0.1", text};
    EXPECT_TRUE(absl::IsInvalidArgument(AddressRanges::Parse(texts).status())) << text;
  }
  const std::vector<std::string> texts = {"10.1.2.3/8"};
  EXPECT_THAT(Message(AddressRanges::Parse(texts).status()),
              HasSubstr("write 10.0.0.0/8 for the range, 10.1.2.3 for it alone"));
}

}  // namespace
}  // namespace halograph::server

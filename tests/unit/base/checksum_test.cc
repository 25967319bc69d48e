#include "common/base/checksum.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace halograph {
namespace {

// The algorithm's published values for nothing at seed 0: what other tools compute too.
TEST(ChecksumTest, EmptyInputHasThePublishedValues) {
  EXPECT_EQ(Hex64(Checksum64({})), "2d06800538d394c2");
  EXPECT_EQ(Checksum128Hex(""), "99aa06d3014798d86001c324468d497f");
}

TEST(ChecksumTest, HexKeepsLeadingZeros) {
  EXPECT_EQ(Hex64(0x1f), "000000000000001f");
  EXPECT_EQ(Hex64(~uint64_t{0}), "ffffffffffffffff");
}

TEST(ChecksumTest, EveryFlippedBitChangesIt) {
  std::vector<std::byte> bytes(300, std::byte{0x5a});
  const uint64_t original = Checksum64(bytes);
  for (std::byte& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte ^= std::byte{1} << bit;
      EXPECT_NE(Checksum64(bytes), original);
      byte ^= std::byte{1} << bit;
    }
  }
  EXPECT_EQ(Checksum64(bytes), original);
}

TEST(ChecksumTest, IdentityIsThirtyTwoDigitsAndTellsTextsApart) {
  EXPECT_EQ(Checksum128Hex("graph").size(), 32u);
  EXPECT_NE(Checksum128Hex("graph"), Checksum128Hex("grapg"));
}

}  // namespace
}  // namespace halograph

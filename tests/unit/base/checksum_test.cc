#include "common/base/checksum.h"

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <xxhash.h>

#include "common/base/crc32c.h"

namespace halograph {
namespace {

// The algorithm's published values for nothing at seed 0: what other tools compute too.
TEST(ChecksumTest, EmptyInputHasThePublishedValues) {
  EXPECT_EQ(Hex64(Checksum64({})), "2d06800538d394c2");
  EXPECT_EQ(Checksum128Hex(""), "99aa06d3014798d86001c324468d497f");
}

// Lengths on both sides of every way that the algorithm has, of bytes that count up: what the
// library computes without choosing by the processor, and so what files hold that were written on
// another one.
TEST(ChecksumTest, IsTheSameWhateverTheProcessorHas) {
  std::vector<std::byte> bytes(3 << 16);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 3);
  for (const size_t size : {0u, 1u, 3u, 8u, 16u, 17u, 128u, 129u, 240u, 241u, 1023u, 1024u, 1025u,
                            65535u, 65536u, 3u << 16}) {
    const std::span<const std::byte> part = std::span(bytes).first(size);
    EXPECT_EQ(Checksum64(part), XXH3_64bits(part.data(), part.size())) << size;
    const std::string text(reinterpret_cast<const char*>(part.data()), part.size());
    const XXH128_hash_t wide = XXH3_128bits(text.data(), text.size());
    EXPECT_EQ(Checksum128Hex(text), Hex64(wide.high64) + Hex64(wide.low64)) << size;
  }
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

// The standard's examples (RFC 3720, appendix B.4), and the usual one.
TEST(Crc32cTest, HasThePublishedValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AA);
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43);
}

}  // namespace
}  // namespace halograph

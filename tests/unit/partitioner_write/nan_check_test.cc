#include "partitioner/write/nan_check.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace halograph {
namespace {

template <typename T>
std::optional<size_t> Find(DType dtype, const std::vector<T>& values) {
  return FindNan(dtype, std::as_bytes(std::span(values)));
}

TEST(FindNanTest, FirstNanAtAnyPosition) {
  for (const size_t position : {0, 1, 1023, 1024, 1025, 3000}) {
    std::vector<float> floats(3001, 1.5F);
    EXPECT_EQ(Find(DType::kFloat32, floats), std::nullopt);
    floats[position] = std::nanf("");
    floats[3000] = std::nanf("");
    EXPECT_EQ(Find(DType::kFloat32, floats), position);
    std::vector<double> doubles(3001, -1);
    doubles[position] = -std::nan("");
    EXPECT_EQ(Find(DType::kFloat64, doubles), position);
  }
}

TEST(FindNanTest, HalvesByTheirBits) {
  EXPECT_EQ(Find<uint16_t>(DType::kFloat16, {0x3c00, 0x7c00, 0xfc00, 0xfe00}), 3U);
  EXPECT_EQ(Find<uint16_t>(DType::kBFloat16, {0x3f80, 0x7f80, 0xff80, 0x7fc0}), 3U);
}

TEST(FindNanTest, InfinitiesAndIntegersAreNumbers) {
  EXPECT_EQ(Find<float>(DType::kFloat32, {std::numeric_limits<float>::infinity()}), std::nullopt);
  EXPECT_EQ(Find<int32_t>(DType::kInt32, {-1, 0x7fc00000}), std::nullopt);
}

TEST(FindNanTest, UnalignedElements) {
  std::vector<std::byte> bytes(1 + sizeof(float) * 3);
  const float nan = std::nanf("");
  std::memcpy(bytes.data() + 1 + sizeof(float) * 2, &nan, sizeof(nan));
  EXPECT_EQ(FindNan(DType::kFloat32, std::span(bytes).subspan(1)), 2U);
}

}  // namespace
}  // namespace halograph

#include "common/storage/narrow_rows.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "common/storage/widen_rows.h"
#include "tests/support/every_target.h"

namespace halograph {
namespace {

constexpr DType kNarrow[] = {DType::kFloat16, DType::kBFloat16, DType::kScaledInt8};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
constexpr DType kOf = sizeof(T) == 8 ? DType::kFloat64 : DType::kFloat32;

// The row of bytes, from and to addresses that are not aligned; empty if `column` is set.
template <typename T>
std::vector<std::byte> Narrow(const std::vector<T>& row, DType to,
                              std::optional<int64_t>* column = nullptr) {
  std::vector<std::byte> from(1 + row.size() * sizeof(T));
  std::memcpy(from.data() + 1, row.data(), row.size() * sizeof(T));
  const auto dim = std::ssize(row);
  std::vector<std::byte> out(1 + RowBytes(to, dim));
  const auto lost = NarrowRow(kOf<T>, from.data() + 1, dim, to, out.data() + 1);
  if (column != nullptr) *column = lost;
  if (lost) return {};
  out.erase(out.begin());
  return out;
}

template <typename T>
std::vector<float> Widened(const std::vector<T>& row, DType to) {
  const std::vector<std::byte> narrow = Narrow(row, to);
  EXPECT_EQ(narrow.size(), RowBytes(to, std::ssize(row)));
  std::vector<float> wide(row.size());
  WidenRows({to, std::ssize(row), narrow.data()}, 1, wide.data(), std::ssize(row));
  return wide;
}
template <typename T>
float One(T value, DType to) {
  return Widened(std::vector<T>{value}, to)[0];
}
template <typename T>
std::optional<int64_t> Lost(const std::vector<T>& row, DType to) {
  std::optional<int64_t> column;
  Narrow(row, to, &column);
  return column;
}

// Rounded to `bits` of mantissa, the hidden one among them, and to multiples of 2^lowest.
double Rounded(double value, int bits, int lowest) {
  if (value == 0) return value;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(value) - bits + 1, lowest));
  return std::nearbyint(value / unit) * unit;
}

TEST(NarrowRowTest, RoundsOnceToNearestEven) {
  std::mt19937_64 random(1);
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) {
    // All exponents of float16, and numbers that lie near halfway between two of its numbers.
    const double value = std::ldexp(1 + static_cast<double>(random() % 4096) / 2048,
                                    static_cast<int>(random() % 42) - 27);
    for (const double off : {0.0, 0x1p-40, -0x1p-40, 0x1p-52, -0x1p-52}) {
      values.push_back((random() % 2 == 0 ? 1 : -1) * value * (1 + off));
    }
  }
  std::vector<double> small;
  for (const double value : values) small.push_back(std::abs(value) < 65000 ? value : 1);
  const std::vector<float> half = Widened(small, DType::kFloat16);
  const std::vector<float> brain = Widened(values, DType::kBFloat16);
  const std::vector<float> single = Widened(values, DType::kFloat32);
  const std::vector<float> floats(small.begin(), small.end());
  const std::vector<float> half_of_floats = Widened(floats, DType::kFloat16);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(half[i], Rounded(small[i], 11, -24)) << small[i];
    ASSERT_EQ(brain[i], Rounded(values[i], 8, -133)) << values[i];
    ASSERT_EQ(single[i], static_cast<float>(values[i]));
    ASSERT_EQ(half_of_floats[i], Rounded(double{floats[i]}, 11, -24)) << floats[i];
  }
}

TEST(NarrowRowTest, SmallestNumbersAndZerosKeepTheirSign) {
  for (const DType to : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    EXPECT_TRUE(std::signbit(One(-0.0, to)));
    EXPECT_TRUE(std::signbit(One(-1e-300, to)));
    EXPECT_EQ(One(1e-300, to), 0.0F);
  }
  EXPECT_EQ(One(0x1.8p-25, DType::kFloat16), 0x1p-24F);
  EXPECT_EQ(One(0x1p-25, DType::kFloat16), 0.0F) << "half to even";
  EXPECT_EQ(One(0x1.8p-134F, DType::kBFloat16), 0x1p-133F);
}

TEST(NarrowRowTest, EveryNarrowNumberStaysWhatItIs) {
  for (const DType to : {DType::kFloat16, DType::kBFloat16}) {
    std::vector<uint16_t> bits(65536);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
    std::vector<float> wide(bits.size());
    ConvertToFloat(to, std::as_bytes(std::span(bits)).data(), bits.size(), wide.data());
    const std::vector<std::byte> narrow = Narrow(wide, to);
    ASSERT_EQ(narrow.size(), 2 * bits.size());
    for (size_t i = 0; i < bits.size(); ++i) {
      uint16_t found = 0;
      std::memcpy(&found, narrow.data() + 2 * i, 2);
      if (std::isnan(wide[i])) {
        ASSERT_TRUE(std::isnan(ToFloat(to, narrow.data() + 2 * i))) << i;
      } else {
        ASSERT_EQ(found, i) << DTypeName(to);
      }
    }
  }
}

TEST(NarrowRowTest, WhatWouldBecomeInfiniteIsNamed) {
  EXPECT_EQ(Lost<float>({1, 65519.99F, -65520}, DType::kFloat16), 2);
  EXPECT_EQ(One(65519.99F, DType::kFloat16), 65504.0F);
  EXPECT_EQ(Lost<float>({1, 0x1.ffp127F}, DType::kBFloat16), 1);
  EXPECT_EQ(Lost<float>({1e38F, 1e30F}, DType::kBFloat16), std::nullopt);
  EXPECT_EQ(Lost<double>({1e300, 1}, DType::kFloat32), 0);
  EXPECT_EQ(Lost<double>({1, 1e300}, DType::kFloat16), 1);
  EXPECT_EQ(Lost<double>({1, -1e300}, DType::kBFloat16), 1);
  EXPECT_EQ(Lost<double>({1, -1e300}, DType::kScaledInt8), 1);
  std::vector<float> wide(1000, 1.0F);
  wide[700] = wide[800] = 1e6F;
  EXPECT_EQ(Lost(wide, DType::kFloat16), 700);
}

TEST(NarrowRowTest, NanAndInfinityStayInFloatsAndAreNamedInScaledInt8) {
  for (const DType to : {DType::kFloat16, DType::kBFloat16}) {
    const std::vector<float> wide = Widened<float>({kNan, kInfinity, -kInfinity}, to);
    EXPECT_TRUE(std::isnan(wide[0]));
    EXPECT_EQ(wide[1], kInfinity);
    EXPECT_EQ(wide[2], -kInfinity);
    EXPECT_EQ(One<double>(kInfinity, to), kInfinity);
    EXPECT_TRUE(std::isnan(One<double>(kNan, to)));
  }
  EXPECT_EQ(Lost<float>({0, kNan}, DType::kScaledInt8), 1);
  EXPECT_EQ(Lost<float>({0, 1, -kInfinity}, DType::kScaledInt8), 2);
}

TEST(NarrowRowTest, ScaledInt8HasTheLargestAt127) {
  EXPECT_EQ(Widened<float>({-254, 127, 1, 3, 0}, DType::kScaledInt8),
            (std::vector<float>{-254, 128, 0, 4, 0}))
      << "63.5, 0.5 and 1.5 go to the even one";
  EXPECT_EQ(Widened<float>({0, -0.0F}, DType::kScaledInt8), (std::vector<float>{0, 0}));
  const std::vector<std::byte> narrow = Narrow<float>({0, 127, -127}, DType::kScaledInt8);
  EXPECT_EQ(static_cast<int>(narrow[1]), 127);
  EXPECT_EQ(static_cast<int8_t>(narrow[2]), -127);
  float scale = 0;
  std::memcpy(&scale, narrow.data() + 3, sizeof scale);
  EXPECT_EQ(scale, 1.0F);
}

TEST(NarrowRowTest, ScaledInt8IsWithinHalfAScale) {
  std::mt19937 random(2);
  std::normal_distribution<double> numbers(0, 1);
  for (const double size : {1e-40, 1e-30, 1.0, 1e37}) {
    for (const int64_t dim : {1, 2, 33, 256, 1000}) {
      std::vector<double> row(static_cast<size_t>(dim));
      double largest = 0;
      for (double& value : row) {
        value = numbers(random) * size;
        largest = std::max(largest, std::abs(value));
      }
      const std::vector<float> wide = Widened(row, DType::kScaledInt8);
      const double bound = largest / 127 * 0.5 * (1 + 1e-4) + 127 * 0x1p-149;
      for (size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(wide[i], row[i], bound) << size;
    }
  }
  EXPECT_EQ(One(1e-45F, DType::kScaledInt8), 0.0F) << "the scale would be 0";
}

class WidenRowsTest : public EveryTargetTest {};

TEST_P(WidenRowsTest, EveryHalfAndBrainAsConverted) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  const std::byte* const bytes = std::as_bytes(std::span(bits)).data();
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    std::vector<float> expected(bits.size()), found(bits.size());
    ConvertToFloat(dtype, bytes, bits.size(), expected.data());
    WidenRows({dtype, std::ssize(bits), bytes}, 1, found.data(), std::ssize(bits));
    for (size_t i = 0; i < bits.size(); ++i) {
      if (std::isnan(expected[i])) {
        ASSERT_TRUE(std::isnan(found[i])) << DTypeName(dtype) << " " << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i])) << i;
      }
    }
  }
}

TEST_P(WidenRowsTest, AnyWidthAndStrideTouchesItsOwnColumnsOnly) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(1 + 3 * RowBytes(DType::kFloat64, 70));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 100);
  for (int64_t dim = 1; dim <= 70; ++dim) {
    for (const int64_t stride : {dim, dim + 1, dim + 17}) {
      for (int i = 1; i <= 14; ++i) {
        const auto dtype = static_cast<DType>(i);
        std::vector<float> found(static_cast<size_t>(3 * stride), -7.0F);
        std::vector<float> expected = found;
        for (int64_t row = 0; row < 3; ++row) {
          const std::byte* from =
              bytes.data() + 1 + static_cast<size_t>(row) * RowBytes(dtype, dim);
          float* const to = expected.data() + row * stride;
          if (!HasRowScale(dtype)) {
            ConvertToFloat(dtype, from, static_cast<size_t>(dim), to);
            continue;
          }
          float scale = 0;
          std::memcpy(&scale, from + dim, sizeof scale);
          for (int64_t c = 0; c < dim; ++c)
            to[c] = scale * static_cast<float>(static_cast<int8_t>(from[c]));
        }
        WidenRows({dtype, dim, bytes.data() + 1}, 3, found.data(), stride);
        ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
            << DTypeName(dtype) << " " << dim << " " << stride;
      }
    }
  }
}

TEST_P(WidenRowsTest, NoRowsAndNoColumnsTouchNothing) {
  for (const DType dtype : kNarrow) {
    WidenRows({dtype, 5, nullptr}, 0, nullptr, 5);
    WidenRows({dtype, 5, nullptr}, 0, nullptr, 9);
  }
}

HALOGRAPH_EVERY_TARGET(WidenRowsTest);

}  // namespace
}  // namespace halograph

#include "common/storage/dtype.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

std::vector<DType> AllDTypes() {
  std::vector<DType> all;
  for (int i = 1; i <= 14; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

// Of one element, from an address that is not aligned.
template <typename T>
float Converted(DType dtype, T value) {
  std::byte bytes[1 + sizeof(T)] = {};
  std::memcpy(bytes + 1, &value, sizeof(T));
  return ToFloat(dtype, bytes + 1);
}

uint32_t HalfBits(uint16_t bits) {
  return std::bit_cast<uint32_t>(Converted(DType::kFloat16, bits));
}
float Half(uint16_t bits) { return Converted(DType::kFloat16, bits); }

TEST(DTypeTest, NamesRoundTripAndAreUnique) {
  for (const DType dtype : AllDTypes()) {
    EXPECT_EQ(*ParseDTypeName(DTypeName(dtype)), dtype) << DTypeName(dtype);
  }
  const auto unknown = ParseDTypeName("complex64");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(unknown.status()),
              testing::AllOf(testing::HasSubstr("'complex64'"), testing::HasSubstr("bfloat16")));
}

TEST(DTypeTest, SizesFitNameAndNumpyDescr) {
  for (const DType dtype : AllDTypes()) {
    EXPECT_EQ(DTypeSize(dtype), static_cast<size_t>(NpyDescr(dtype)[2] - '0')) << DTypeName(dtype);
  }
  EXPECT_EQ(DTypeSize(DType::kFloat64), 8u);
  EXPECT_EQ(NpyDescr(DType::kFloat32), "<f4");
  EXPECT_EQ(NpyDescr(DType::kBFloat16), "<u2");
  EXPECT_EQ(NpyDescr(DType::kBool), "|b1");
}

TEST(DTypeTest, RowsWithAScaleAreStoredAsRowsOfBytes) {
  for (const DType dtype : AllDTypes()) {
    const StoredArray stored = StoredAs(dtype, 1, 1);
    EXPECT_EQ(static_cast<size_t>(stored.cols) * DTypeSize(stored.dtype), RowBytes(dtype, 1));
    EXPECT_EQ(stored.rank, HasRowScale(dtype) ? 2 : 1);
  }
  EXPECT_EQ(RowBytes(DType::kScaledInt8, 100), 104u);
  EXPECT_EQ(RowBytes(DType::kBFloat16, 100), 200u);
  EXPECT_EQ(StoredAs(DType::kScaledInt8, 2, 100).cols, 104);
  EXPECT_EQ(StoredAs(DType::kScaledInt8, 2, 100).dtype, DType::kUInt8);
}

TEST(DTypeTest, FloatingTypesAreTheFour) {
  size_t floating = 0;
  for (const DType dtype : AllDTypes()) floating += IsFloating(dtype) ? 1 : 0;
  EXPECT_EQ(floating, 4u);
  EXPECT_TRUE(IsFloating(DType::kBFloat16));
  EXPECT_FALSE(IsFloating(DType::kInt32));
}

TEST(Float16Test, KnownValues) {
  EXPECT_EQ(Half(0x3c00), 1.0f);
  EXPECT_EQ(Half(0xc000), -2.0f);
  EXPECT_EQ(Half(0x3555), 0.333251953125f);
  EXPECT_EQ(Half(0x7bff), 65504.0f);
  EXPECT_EQ(Half(0x0400), 0x1p-14f);
  EXPECT_EQ(HalfBits(0x0000), 0u);
  EXPECT_EQ(HalfBits(0x8000), 0x80000000u);
}

TEST(Float16Test, Subnormals) {
  EXPECT_EQ(Half(0x0001), 0x1p-24f);
  EXPECT_EQ(Half(0x8001), -0x1p-24f);
  EXPECT_EQ(Half(0x03ff), 1023 * 0x1p-24f);
}

TEST(Float16Test, InfinityAndNan) {
  EXPECT_EQ(Half(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(Half(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(Half(0x7e00)));
  EXPECT_TRUE(std::isnan(Half(0x7c01)));
  EXPECT_EQ(HalfBits(0xfe01), 0xffc02000u) << "sign and payload are kept";
}

TEST(Float16Test, EveryFiniteValueIsExact) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> floats(halves.size());
  ConvertToFloat(DType::kFloat16, std::as_bytes(std::span(halves)).data(), halves.size(),
                 floats.data());
  for (const uint16_t bits : halves) {
    const int exponent = (bits >> 10) & 31;
    if (exponent == 31) continue;
    const int mantissa = bits & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(floats[bits], (bits & 0x8000) != 0 ? -magnitude : magnitude) << bits;
  }
}

TEST(BFloat16Test, IsTheUpperHalfOfAFloat) {
  const auto brain = [](uint16_t bits) { return Converted(DType::kBFloat16, bits); };
  EXPECT_EQ(brain(0x3f80), 1.0f);
  EXPECT_EQ(brain(0xc020), -2.5f);
  EXPECT_EQ(brain(0x0001), 0x1p-133f) << "subnormal";
  EXPECT_EQ(brain(0x7f7f), 0x1.fep127f);
  EXPECT_EQ(brain(0x7f80), std::numeric_limits<float>::infinity());
  EXPECT_EQ(brain(0xff80), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(brain(0x7fc0)));
  EXPECT_TRUE(std::signbit(brain(0x8000)));
}

TEST(ConvertToFloatTest, EveryOtherTypeKeepsItsValue) {
  EXPECT_EQ(Converted(DType::kFloat32, 1.5f), 1.5f);
  EXPECT_EQ(Converted(DType::kFloat64, -2.25), -2.25f);
  EXPECT_EQ(Converted(DType::kInt8, int8_t{-128}), -128.0f);
  EXPECT_EQ(Converted(DType::kInt16, int16_t{-32768}), -32768.0f);
  EXPECT_EQ(Converted(DType::kInt32, int32_t{-65536}), -65536.0f);
  EXPECT_EQ(Converted(DType::kInt64, int64_t{1} << 40), 0x1p40f);
  EXPECT_EQ(Converted(DType::kUInt8, uint8_t{255}), 255.0f);
  EXPECT_EQ(Converted(DType::kUInt16, uint16_t{65535}), 65535.0f);
  EXPECT_EQ(Converted(DType::kUInt32, uint32_t{1} << 31), 0x1p31f);
  EXPECT_EQ(Converted(DType::kUInt64, uint64_t{1} << 63), 0x1p63f);
  EXPECT_EQ(Converted(DType::kBool, uint8_t{1}), 1.0f);
  EXPECT_EQ(Converted(DType::kBool, uint8_t{0}), 0.0f);
}

TEST(ConvertToFloatTest, NoElementsTouchNothing) {
  for (const DType dtype : AllDTypes()) {
    if (!HasRowScale(dtype)) ConvertToFloat(dtype, nullptr, 0, nullptr);
  }
}

}  // namespace
}  // namespace halograph

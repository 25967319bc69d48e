#include "common/state/initial_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/support/chi_square.h"

namespace halograph {
namespace {

using Start = Initializer::Kind;

constexpr int64_t kDim = 31;
constexpr int64_t kDrawnRows = 8000;

std::vector<float> Values(const Initializer& start, int64_t rows = kDrawnRows, int64_t dim = kDim) {
  MutableTensorSpec spec;
  spec.dim = dim;
  spec.initializer = start;
  const InitialValues initial(spec, 1000);
  std::vector<float> values(static_cast<size_t>(rows * dim));
  for (int64_t id = 0; id < rows; ++id) initial.Fill(id, values.data() + id * dim);
  return values;
}

double ChiSquare(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  }
  return sum;
}

TEST(InitialValuesTest, LogarithmAndSineAreThoseOfMathematics) {
  CounterRng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    const double u = rng.NextDouble();
    for (const double x : {u + 0x1p-53, u * 0x1p-30 + 0x1p-53, 1 - u * 0x1p-20, 1 + u}) {
      EXPECT_NEAR(PlainLog(x), std::log(x), 1e-15 * std::max(1.0, std::abs(std::log(x)))) << x;
    }
    const auto [sine, cosine] = PlainSineCosine(u);
    EXPECT_NEAR(sine, std::sin(2 * M_PI * u), 1e-15) << u;
    EXPECT_NEAR(cosine, std::cos(2 * M_PI * u), 1e-15) << u;
  }
  for (const double x : {1.0, 0.5, 0x1p-53, 1 - 0x1p-53, std::sqrt(0.5), std::sqrt(2.0)}) {
    EXPECT_NEAR(PlainLog(x), std::log(x), 1e-15 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  for (const double turns : {0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 0.875, 1 - 0x1p-53}) {
    EXPECT_NEAR(PlainSineCosine(turns).sine, std::sin(2 * M_PI * turns), 1e-15) << turns;
    EXPECT_NEAR(PlainSineCosine(turns).cosine, std::cos(2 * M_PI * turns), 1e-15) << turns;
  }
}

// A correct stream fails each of these once in a thousand seeds; the seed is fixed.
TEST(InitialValuesTest, UniformValuesPassChiSquare) {
  constexpr size_t kBins = 200;
  std::vector<double> counts(kBins);
  const std::vector<float> values = Values({.kind = Start::kUniform, .a = -3, .b = 5, .seed = 11});
  for (const float value : values) {
    ASSERT_TRUE(value >= -3 && value <= 5) << value;
    ++counts[std::min(kBins - 1, static_cast<size_t>((value + 3) / 8 * kBins))];
  }
  const std::vector<double> expected(kBins, static_cast<double>(values.size()) / kBins);
  EXPECT_LT(ChiSquare(counts, expected), ChiSquareLimit(kBins - 1));
}

TEST(InitialValuesTest, NormalValuesPassChiSquare) {
  constexpr int kHalf = 14;  // bins of a quarter deviation on each side, the last ones open
  const std::vector<float> values = Values({.kind = Start::kNormal, .a = 2, .b = 0.5, .seed = 12});
  std::vector<double> counts(2 * kHalf);
  for (const float value : values) {
    const int bin = static_cast<int>(std::floor((value - 2) / 0.5 * 4));
    ++counts[static_cast<size_t>(std::clamp(bin, -kHalf, kHalf - 1) + kHalf)];
  }
  const auto below = [](double deviations) { return 0.5 * std::erfc(-deviations / std::sqrt(2)); };
  std::vector<double> expected(2 * kHalf);
  for (int bin = -kHalf; bin < kHalf; ++bin) {
    const double from = bin == -kHalf ? 0 : below(bin / 4.0);
    const double to = bin == kHalf - 1 ? 1 : below((bin + 1) / 4.0);
    expected[static_cast<size_t>(bin + kHalf)] = (to - from) * static_cast<double>(values.size());
  }
  EXPECT_LT(ChiSquare(counts, expected), ChiSquareLimit(2 * kHalf - 1));
}

// Columns 2k and 2k + 1 come of the same two draws, rows and seeds of neighbouring keys.
TEST(InitialValuesTest, NeighbouringValuesAreNotCorrelated) {
  const std::vector<float> values = Values({.kind = Start::kNormal, .b = 1, .seed = 13});
  const std::vector<float> other = Values({.kind = Start::kNormal, .b = 1, .seed = 14});
  const auto correlation = [&](const std::vector<float>& others, size_t shift) {
    double sum = 0;
    const size_t count = values.size() - shift;
    for (size_t i = 0; i < count; ++i) sum += double{values[i]} * others[i + shift];
    return sum / std::sqrt(static_cast<double>(count));  // standard normal
  };
  constexpr double kPoint = 3.2905;  // exceeded once in a thousand times, either side
  EXPECT_LT(std::abs(correlation(values, 1)), kPoint);
  EXPECT_LT(std::abs(correlation(values, kDim)), kPoint);
  EXPECT_LT(std::abs(correlation(other, 0)), kPoint);
}

TEST(InitialValuesTest, XavierFillsItsRange) {
  const double limit = std::sqrt(6.0 / (1000 + kDim));
  double least = 0;
  double most = 0;
  for (const float value : Values({.kind = Start::kXavier, .seed = 3})) {
    least = std::min<double>(least, value);
    most = std::max<double>(most, value);
  }
  EXPECT_NEAR(least, -limit, 1e-4 * limit);
  EXPECT_NEAR(most, limit, 1e-4 * limit);
  EXPECT_GE(least, static_cast<float>(-limit));
  EXPECT_LE(most, static_cast<float>(limit));
}

TEST(InitialValuesTest, ZerosAndConstants) {
  EXPECT_THAT(Values({}, 1, 3), testing::Each(0.0F));
  EXPECT_THAT(Values({.kind = Start::kConstant, .a = 0.1}, 1, 3), testing::Each(0.1F));
}

// Rows that nobody pushed are made anew after a restart: these never change. Made with Python's
// math.log, math.sin and math.cos.
TEST(InitialValuesTest, ValuesArePinned) {
  MutableTensorSpec spec;
  spec.dim = 3;
  std::array<float, 3> row{};
  spec.initializer = {.kind = Start::kUniform, .a = -1, .b = 1, .seed = 42};
  InitialValues(spec, 10).Fill(7, row.data());
  EXPECT_THAT(row, testing::ElementsAre(-0x1.ff88c4p-1F, 0x1.fda81p-1F, -0x1.558ef8p-1F));
  spec.initializer = {.kind = Start::kNormal, .a = 0, .b = 1, .seed = 42};
  InitialValues(spec, 10).Fill(7, row.data());
  EXPECT_THAT(row, testing::ElementsAre(0x1.ee2a9ap-6F, -0x1.c6cf86p-12F, 0x1.f4c40cp-2F));
}

}  // namespace
}  // namespace halograph

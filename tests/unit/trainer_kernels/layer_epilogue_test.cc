#include "trainer/kernels/layer_epilogue.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/every_target.h"
#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

constexpr int64_t kWidths[] = {1, 3, 31, 33, 64, 100, 129};

struct Finished {
  std::vector<float> z;
  std::vector<uint64_t> mask;
};

Finished Finish(std::vector<float> z, int64_t cols, const std::vector<float>& bias,
                const Dropout& dropout) {
  const auto rows = static_cast<int64_t>(z.size()) / cols;
  std::vector<uint64_t> mask(static_cast<size_t>(rows * MaskWords(cols)), ~uint64_t{0});
  ReluEpilogue({z.data(), cols}, cols, bias.data(), dropout, 0, rows, mask.data());
  return {std::move(z), std::move(mask)};
}

std::vector<float> Values(uint64_t key, int64_t count) {
  CounterRng rng(Mix(key));
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(rng.NextDouble() * 2 - 1));
  }
  return values;
}

bool Bit(const std::vector<uint64_t>& mask, int64_t cols, int64_t row, int64_t column) {
  return (mask[row * MaskWords(cols) + column / 64] >> (column % 64) & 1) != 0;
}

class LayerEpilogueTest : public EveryTargetTest {};

TEST_P(LayerEpilogueTest, IsBiasThenReluThenDropoutOfRowAndColumn) {
  for (const int64_t cols : kWidths) {
    for (const double p : {0.0, 0.3, 0.5}) {
      const Dropout dropout = Dropout::Of(p, 77, 2);
      const std::vector<float> z = Values(cols, 9 * cols), bias = Values(cols + 1, cols);
      const Finished found = Finish(z, cols, bias, dropout);
      for (int64_t row = 0; row < 9; ++row) {
        for (int64_t c = 0; c < cols; ++c) {
          const float sum = z[row * cols + c] + bias[c];
          const bool kept = sum > 0 && dropout.Keeps(row, c);
          ASSERT_EQ(found.z[row * cols + c], kept ? sum * dropout.scale() : 0.0F)
              << cols << " columns, row " << row << " column " << c;
          ASSERT_EQ(Bit(found.mask, cols, row, c), kept);
        }
      }
    }
  }
}

TEST_P(LayerEpilogueTest, NanStaysNanAndGetsAGradientAndInfinityIsCutAsOthers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> z(40, nan);
  z[1] = z[20] = inf;
  z[2] = z[21] = -inf;
  const Finished found = Finish(z, 40, std::vector<float>(40), {});
  EXPECT_TRUE(std::isnan(found.z[0]));
  EXPECT_TRUE(std::isnan(found.z[39]));
  for (const int64_t c : {1, 20}) EXPECT_EQ(found.z[c], inf);
  for (const int64_t c : {2, 21}) EXPECT_EQ(found.z[c], 0.0F);
  EXPECT_TRUE(Bit(found.mask, 40, 0, 0));
  EXPECT_TRUE(Bit(found.mask, 40, 0, 1));
  EXPECT_FALSE(Bit(found.mask, 40, 0, 21));
}

TEST_P(LayerEpilogueTest, BackwardPassesWhereTheMaskHasABitAndSumsColumns) {
  for (const int64_t cols : kWidths) {
    const Finished forward =
        Finish(Values(1, 9 * cols), cols, Values(2, cols), Dropout::Of(0.5, 5, 0));
    const std::vector<float> grad = Values(3, 9 * cols);
    std::vector<float> out(grad.size(), 7.0F), sums(cols, 7.0F);
    ReluEpilogueBackward({grad.data(), cols}, cols, forward.mask.data(), 2.0F, 2, 7,
                         {out.data(), cols}, sums.data());
    for (int64_t c = 0; c < cols; ++c) {
      float sum = 0;
      for (int64_t row = 2; row < 7; ++row) {
        const float wanted = Bit(forward.mask, cols, row, c) ? grad[row * cols + c] * 2 : 0.0F;
        ASSERT_EQ(out[row * cols + c], wanted);
        sum += wanted;
      }
      ASSERT_EQ(sums[c], sum);
      ASSERT_EQ(out[cols + c], 7.0F) << "a row that was not asked for";
      ASSERT_EQ(out[7 * cols + c], 7.0F) << "a row that was not asked for";
    }
  }
}

TEST_P(LayerEpilogueTest, SomeRowsAreThoseOfAll) {
  for (const int64_t cols : kWidths) {
    const std::vector<float> z = Values(1, 9 * cols), bias = Values(2, cols);
    const Dropout dropout = Dropout::Of(0.5, 5, 0);
    const Finished all = Finish(z, cols, bias, dropout);
    std::vector<float> some(z.begin() + 2 * cols, z.begin() + 7 * cols);
    std::vector<uint64_t> mask(all.mask.size());
    ReluEpilogue({some.data(), cols}, cols, bias.data(), dropout, 2, 7, mask.data());
    EXPECT_EQ(some, std::vector<float>(all.z.begin() + 2 * cols, all.z.begin() + 7 * cols));
    for (int64_t row = 2; row < 7; ++row) {
      for (int64_t c = 0; c < cols; ++c) {
        ASSERT_EQ(Bit(mask, cols, row, c), Bit(all.mask, cols, row, c));
      }
    }
  }
}

TEST_P(LayerEpilogueTest, BackwardOfBfloat16IsThatOfFloatsRounded) {
  for (const int64_t cols : kWidths) {
    const Finished forward =
        Finish(Values(1, 9 * cols), cols, Values(2, cols), Dropout::Of(0.3, 5, 0));
    const std::vector<float> exact = Values(3, 9 * cols);
    std::vector<uint16_t> narrow(exact.size());
    std::vector<float> grad(exact.size()), wanted(exact.size()), wanted_sums(cols);
    NarrowToBf16(exact.data(), 9 * cols, narrow.data());
    WidenBf16(narrow.data(), 9 * cols, grad.data());
    ReluEpilogueBackward({grad.data(), cols}, cols, forward.mask.data(), 1.7F, 0, 9,
                         MutableRows{wanted.data(), cols}, wanted_sums.data());
    std::vector<uint16_t> rounded(exact.size());
    NarrowToBf16(wanted.data(), 9 * cols, rounded.data());
    for (const bool narrow_grad : {false, true}) {
      std::vector<uint16_t> found(exact.size() + 1, 77);
      std::vector<float> sums(cols, 7.0F);
      const MutableBf16Rows out = {found.data(), cols};
      if (narrow_grad) {
        ReluEpilogueBackward(ConstBf16Rows{narrow.data(), cols}, cols, forward.mask.data(), 1.7F, 0,
                             9, out, sums.data());
      } else {
        ReluEpilogueBackward(ConstRows{grad.data(), cols}, cols, forward.mask.data(), 1.7F, 0, 9,
                             out, sums.data());
      }
      EXPECT_EQ(found.back(), 77) << "overrun";
      found.pop_back();
      EXPECT_EQ(found, rounded) << cols;
      EXPECT_EQ(sums, wanted_sums) << cols;
    }
  }
}

TEST_P(LayerEpilogueTest, AGradientThatIsNanIsLostWhereNothingPassed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> grad(20, nan);
  const std::vector<uint64_t> mask = {0b10};
  std::vector<float> out(20), sums(20);
  ReluEpilogueBackward({grad.data(), 20}, 20, mask.data(), 1.0F, 0, 1, {out.data(), 20},
                       sums.data());
  EXPECT_EQ(out[0], 0.0F);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(sums[2], 0.0F);
}

HALOGRAPH_EVERY_TARGET(LayerEpilogueTest);

// Rows, columns and keys draw independently, each value with the probability asked for. Level
// 1e-6 for each of the eight tests.
TEST(DropoutTest, LeavesOutTheShareThatWasAskedForInEveryRowAndColumn) {
  constexpr int64_t kRows = 2000, kCols = 100;
  for (const double p : {0.1, 0.5}) {
    for (const uint64_t key : {1, 2}) {
      const Dropout dropout = Dropout::Of(p, key, 3);
      std::vector<int64_t> by_column(kCols), by_row(kRows / 20);
      for (int64_t row = 0; row < kRows; ++row) {
        for (int64_t c = 0; c < kCols; ++c) {
          const int64_t left_out = dropout.Keeps(row, c) ? 0 : 1;
          by_column[c] += left_out;
          by_row[row / 20] += left_out;
        }
      }
      // Each count is binomial of 2,000 with p: the sum of the squared deviations is chi-square.
      for (const auto& counts : {by_column, by_row}) {
        double statistic = 0;
        for (const int64_t count : counts) {
          const double deviation = static_cast<double>(count) - 2000 * p;
          statistic += deviation * deviation / (2000 * p * (1 - p));
        }
        EXPECT_LT(statistic, 179.0) << "p " << p << ", key " << key;  // 100 degrees of freedom
      }
    }
  }
}

TEST(DropoutTest, NeighboursLayersAndKeysAreNotAlike) {
  const Dropout dropout = Dropout::Of(0.5, 1, 0);
  const auto equal_with = [&](const Dropout& other, int64_t more_rows, int64_t more_cols) {
    int64_t equal = 0;
    for (int64_t row = 0; row < 100; ++row) {
      for (int64_t c = 0; c < 100; ++c) {
        equal += dropout.Keeps(row, c) == other.Keeps(row + more_rows, c + more_cols) ? 1 : 0;
      }
    }
    return equal;
  };
  // Of 10,000 pairs half are equal: 5,000, give or take 250 (5 standard deviations).
  EXPECT_NEAR(equal_with(dropout, 1, 0), 5000, 250);
  EXPECT_NEAR(equal_with(dropout, 0, 1), 5000, 250);
  EXPECT_NEAR(equal_with(dropout, 0, 4), 5000, 250);
  EXPECT_NEAR(equal_with(Dropout::Of(0.5, 1, 1), 0, 0), 5000, 250);
  EXPECT_NEAR(equal_with(Dropout::Of(0.5, 2, 0), 0, 0), 5000, 250);
}

TEST(DropoutTest, TheMeanStaysAndTheEndsOfTheRangeAreTaken) {
  EXPECT_EQ(Dropout::Of(0.5, 1, 0).scale(), 2.0F);
  EXPECT_EQ(Dropout::Of(0.0, 1, 0).scale(), 1.0F);
  EXPECT_EQ(Dropout::Of(0.5, std::nullopt, 0).dropped, 0U);
  EXPECT_EQ(Dropout::Of(0.9999999, 1, 0).dropped, 65535U);
}

}  // namespace
}  // namespace halograph

#include "trainer/pipeline/layer_inputs.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_block.h"
#include "tests/unit/trainer_pipeline/rounded_rows.h"
#include "trainer/blocks/gather_rows.h"

namespace halograph {
namespace {

FeatureMatrix RandomMatrix(uint64_t key, int64_t rows, int64_t cols) {
  CounterRng rng(Mix(key));
  FeatureMatrix matrix(rows, cols);
  for (float& value : matrix.values()) {
    value = static_cast<float>(rng.NextBounded(2001)) / 1000.0F - 1.0F;
  }
  return matrix;
}

std::span<const float> Row(const FeatureMatrix& matrix, int64_t row) {
  return matrix.values().subspan(static_cast<size_t>(row * matrix.cols()),
                                 static_cast<size_t>(matrix.cols()));
}

void ExpectSelfAndMean(const Block& block, const FeatureMatrix& destinations,
                       const FeatureMatrix& sources, const SelfAndMean& made) {
  ASSERT_EQ(made.cols, destinations.cols() + sources.cols());
  ASSERT_EQ(made.rows.rows() + 1, std::ssize(block.indptr));
  for (int64_t v = 0; v < made.rows.rows(); ++v) {
    const auto row = Row(made.rows, v);
    for (int64_t c = 0; c < destinations.cols(); ++c) {
      EXPECT_EQ(row[c], Row(destinations, v)[c]) << v;
    }
    const int64_t degree = block.indptr[v + 1] - block.indptr[v];
    for (int64_t c = 0; c < sources.cols(); ++c) {
      double sum = 0;
      for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
        sum += Row(sources, block.indices[e])[c];
      }
      const double mean = degree > 0 ? sum / static_cast<double>(degree) : 0;
      EXPECT_NEAR(row[destinations.cols() + c], mean, 5e-6) << v << ", " << c;
    }
    for (int64_t c = made.cols; c < made.rows.cols(); ++c) EXPECT_EQ(row[c], 0) << "room";
  }
}

TEST(SelfAndMeanTest, IsTheRowItselfAndTheMeanOfItsSources) {
  for (const int64_t cols : {1, 3, 31, 33, 100, 128}) {
    SCOPED_TRACE(cols);
    const Block block = RandomBlock(3, 23, 41);
    const FeatureMatrix features = RandomMatrix(5, 41, cols);
    ExpectSelfAndMean(block, features, features,
                      MakeSelfAndMean(block, features, features, Precision::kFloat32, nullptr));
  }
}

TEST(SelfAndMeanTest, TypesMayDifferInWidthOrHaveNoFeatures) {
  const Block block = RandomBlock(4, 9, 20);
  for (const auto& [own, other] : {std::tuple{3, 7}, {0, 7}, {3, 0}, {0, 0}}) {
    SCOPED_TRACE(testing::Message() << own << " and " << other);
    const FeatureMatrix destinations = RandomMatrix(1, 12, own);
    const FeatureMatrix sources = RandomMatrix(2, 20, other);
    ExpectSelfAndMean(block, destinations, sources,
                      MakeSelfAndMean(block, destinations, sources, Precision::kFloat32, nullptr));
  }
}

TEST(SelfAndMeanTest, BlocksWithoutEdgesDestinationsOrNeighbours) {
  const FeatureMatrix features = RandomMatrix(1, 3, 5);
  for (const Block& block : {Block{0, {0, 0, 0}, {}}, Block{0, {0, 0, 1}, {2}}, Block{0, {0}, {}},
                             Block{0, {0, 1}, {0}}}) {
    ExpectSelfAndMean(block, features, features,
                      MakeSelfAndMean(block, features, features, Precision::kFloat32, nullptr));
  }
}

TEST(SelfAndMeanTest, NanAndInfinityReachThoseWhoListThem) {
  FeatureMatrix features = RandomMatrix(1, 3, 1);
  features.values()[2] = std::numeric_limits<float>::quiet_NaN();
  features.values()[1] = std::numeric_limits<float>::infinity();
  const Block block = {0, {0, 2, 3}, {0, 2, 1}};
  const SelfAndMean made = MakeSelfAndMean(block, features, features, Precision::kFloat32, nullptr);
  EXPECT_THAT(Row(made.rows, 0)[1], testing::NanSensitiveFloatEq(NAN));
  EXPECT_EQ(Row(made.rows, 1)[1], std::numeric_limits<float>::infinity());
}

TEST(SelfAndMeanTest, TheNumberOfThreadsChangesNoBit) {
  const Block block = RandomBlock(3, 700, 900);
  const FeatureMatrix features = RandomMatrix(5, 900, 33);
  const SelfAndMean alone =
      MakeSelfAndMean(block, features, features, Precision::kFloat32, nullptr);
  for (const size_t helpers : {1, 3}) {
    ThreadPool pool("hg-test", helpers, 8);
    const SelfAndMean shared =
        MakeSelfAndMean(block, features, features, Precision::kFloat32, &pool);
    ASSERT_EQ(shared.rows.values().size(), alone.rows.values().size());
    EXPECT_EQ(std::memcmp(shared.rows.values().data(), alone.rows.values().data(),
                          alone.rows.values().size_bytes()),
              0);
  }
}

FeatureMatrix Copied(const FeatureMatrix& matrix) {
  FeatureMatrix copy(matrix.rows(), matrix.cols());
  std::copy_n(matrix.values().data(), matrix.values().size(), copy.values().data());
  return copy;
}

TEST(SelfAndMeanTest, RowsOfBfloat16AreThoseOfFloat32RoundedOnce) {
  const Block block = RandomBlock(3, 23, 41);
  for (const int64_t cols : {1, 3, 31, 33, 100}) {
    const FeatureMatrix given = RandomMatrix(5, 41, cols);
    // What is stored as bfloat16 stays so, and gives the bits of the same numbers as float32.
    const FeatureMatrix narrow = WithPrecision(Copied(given), Precision::kBf16);
    const FeatureMatrix same =
        WithPrecision(WithPrecision(Copied(given), Precision::kBf16), Precision::kFloat32);
    for (const bool stored_narrow : {false, true}) {
      const FeatureMatrix& features = stored_narrow ? same : given;
      const FeatureMatrix& read = stored_narrow ? narrow : given;
      SelfAndMean wide = MakeSelfAndMean(block, features, features, Precision::kFloat32, nullptr);
      const SelfAndMean again = MakeSelfAndMean(block, read, read, Precision::kFloat32, nullptr);
      ASSERT_TRUE(std::equal(again.rows.values().begin(), again.rows.values().end(),
                             wide.rows.values().begin()));
      const SelfAndMean made = MakeSelfAndMean(block, read, read, Precision::kBf16, nullptr);
      EXPECT_EQ(made.cols, 2 * cols);
      SCOPED_TRACE(testing::Message() << cols << (stored_narrow ? ", stored narrow" : ""));
      EXPECT_EQ(made.rows.cols(), PaddedStride(2 * cols, Precision::kBf16));
      ExpectRoundedRows(std::move(wide.rows), 2 * cols, made.rows);
    }
  }
}

TEST(SelfAndMeanTest, RowsAreApartByCacheLinesAndNotByWholeKilobytes) {
  for (const auto& [cols, stride] :
       {std::tuple{1, 32}, {32, 32}, {33, 64}, {200, 224}, {256, 288}}) {
    EXPECT_EQ(PaddedStride(cols, Precision::kBf16), stride);
  }
  for (const auto& [cols, stride] :
       {std::tuple{1, 16}, {16, 16}, {17, 32}, {200, 208}, {256, 272}, {512, 528}}) {
    EXPECT_EQ(PaddedStride(cols), stride);
  }
}

}  // namespace
}  // namespace halograph

#include "trainer/pipeline/feature_matrix.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(NormalizeRowsTest, DividesByTheSumOfAbsoluteValues) {
  std::vector<float> values = {1, 1, 2, -3, 1, 0};
  NormalizeRows(values, 3);
  EXPECT_EQ(values, (std::vector<float>{0.25F, 0.25F, 0.5F, -0.75F, 0.25F, 0}));
}

TEST(NormalizeRowsTest, RowsOfZerosStay) {
  std::vector<float> values = {0, 0, 2, 2};
  NormalizeRows(values, 2);
  EXPECT_EQ(values, (std::vector<float>{0, 0, 0.5F, 0.5F}));
}

TEST(NormalizeRowsTest, NoColumnsOrNoRowsIsNothing) {
  std::vector<float> values;
  NormalizeRows(values, 0);
  NormalizeRows(values, 3);
  EXPECT_TRUE(values.empty());
}

TEST(FeatureMatrixTest, IsAlignedAndReleasedOnce) {
  FeatureMatrix matrix(3, 5);
  EXPECT_EQ(matrix.values().size(), 15U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(matrix.values().data()) % 64, 0U);
  void* const data = matrix.Release();
  EXPECT_EQ(matrix.values().size(), 0U);
  FeatureMatrix::Free(data);
}

TEST(FeatureMatrixTest, ValuesOfBfloat16TakeHalfOfTheBytes) {
  FeatureMatrix wide(2, 3);
  const std::vector<float> values = {1, -2, 0.5F, 1.00390625F, 300, 65537};
  std::copy(values.begin(), values.end(), wide.values().begin());
  EXPECT_EQ(wide.bytes().size(), 24U);
  FeatureMatrix narrow = WithPrecision(std::move(wide), Precision::kBf16);
  EXPECT_EQ(narrow.bytes().size(), 12U);
  EXPECT_EQ(narrow.precision(), Precision::kBf16);
  EXPECT_EQ(narrow.rows(), 2);
  const FeatureMatrix back = WithPrecision(std::move(narrow), Precision::kFloat32);
  EXPECT_EQ(std::vector<float>(back.values().begin(), back.values().end()),
            (std::vector<float>{1, -2, 0.5F, 1, 300, 65536}));
}

TEST(FeatureMatrixTest, AnEmptyMatrixStaysEmptyInAnyPrecision) {
  const FeatureMatrix narrow = WithPrecision(FeatureMatrix(), Precision::kBf16);
  EXPECT_EQ(narrow.rows() + narrow.cols(), 0);
}

}  // namespace
}  // namespace halograph

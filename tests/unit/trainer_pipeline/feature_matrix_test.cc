#include "trainer/pipeline/feature_matrix.h"

#include <cstdint>
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
  float* data = matrix.Release();
  EXPECT_EQ(matrix.values().size(), 0U);
  FeatureMatrix::Free(data);
}

}  // namespace
}  // namespace halograph

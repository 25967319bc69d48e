// What rows of bfloat16 must be: those of float32, rounded, however far apart either are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "trainer/pipeline/feature_matrix.h"

namespace halograph {

// The first `cols` columns of `made` are those of `wide`, rounded; the others are zeros.
inline void ExpectRoundedRows(FeatureMatrix wide, int64_t cols, const FeatureMatrix& made) {
  ASSERT_EQ(wide.precision(), Precision::kFloat32);
  const FeatureMatrix rounded = WithPrecision(std::move(wide), Precision::kBf16);
  ASSERT_EQ(made.rows(), rounded.rows());
  ASSERT_LE(cols, std::min(made.cols(), rounded.cols()));
  for (int64_t row = 0; row < made.rows(); ++row) {
    const uint16_t* const found = made.bf16_values().data() + row * made.cols();
    const uint16_t* const wanted = rounded.bf16_values().data() + row * rounded.cols();
    EXPECT_TRUE(std::equal(found, found + cols, wanted)) << row;
    EXPECT_TRUE(std::all_of(found + cols, found + made.cols(), [](auto v) { return v == 0; }))
        << row;
  }
}

}  // namespace halograph

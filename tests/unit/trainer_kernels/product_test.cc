#include "trainer/kernels/product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "tests/support/every_target.h"
#include "trainer/kernels/layer_epilogue.h"

namespace halograph {
namespace {

constexpr float kQuietNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kUntouched = 77;

// Rows with room, which is filled with NaN: who reads it must not use it.
struct PaddedMatrix {
  PaddedMatrix(int64_t num_rows, int64_t num_cols, int64_t row_stride)
      : rows(num_rows),
        cols(num_cols),
        stride(row_stride),
        values(static_cast<size_t>(rows * stride + 1), kQuietNan) {}
  PaddedMatrix(int64_t num_rows, int64_t num_cols)
      : PaddedMatrix(num_rows, num_cols, PaddedStride(num_cols)) {}
  float& at(int64_t row, int64_t col) { return values[row * stride + col]; }
  const float& at(int64_t row, int64_t col) const { return values[row * stride + col]; }
  ConstRows view() const { return {values.data(), stride}; }
  MutableRows view() { return {values.data(), stride}; }

  int64_t rows, cols, stride;
  std::vector<float> values;
};

PaddedMatrix RandomPadded(uint64_t key, int64_t rows, int64_t cols) {
  CounterRng rng(Mix(key));
  PaddedMatrix matrix(rows, cols);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < cols; ++c) {
      matrix.at(row, c) = static_cast<float>(rng.NextDouble() * 2 - 1);
    }
  }
  return matrix;
}

// Leaves a share of `matrix` as it is, sets the rest to 0. Returns the mask.
std::vector<uint64_t> LeaveOut(PaddedMatrix* matrix, double kept) {
  CounterRng rng(Mix(9));
  const int64_t words = MaskWords(matrix->cols);
  std::vector<uint64_t> mask(static_cast<size_t>(matrix->rows * words));
  for (int64_t row = 0; row < matrix->rows; ++row) {
    for (int64_t c = 0; c < matrix->cols; ++c) {
      if (rng.NextDouble() < kept) {
        mask[row * words + c / 64] |= uint64_t{1} << (c % 64);
      } else {
        matrix->at(row, c) = 0;
      }
    }
  }
  return mask;
}

PaddedMatrix TransposeOf(const PaddedMatrix& matrix) {
  PaddedMatrix out(matrix.cols, matrix.rows);
  TransposeMatrix(matrix.view(), matrix.rows, matrix.cols, out.view());
  return out;
}

LeftFactor Left(const PaddedMatrix& matrix, const uint64_t* mask = nullptr) {
  return {matrix.view(), matrix.rows, matrix.cols, mask};
}

PaddedMatrix Product(const PaddedMatrix& left, const PaddedMatrix& right,
                     const uint64_t* mask = nullptr) {
  PaddedMatrix out(left.rows, right.cols);
  Multiply(Left(left, mask), right.view(), right.cols, out.view());
  return out;
}

// On top of ones.
PaddedMatrix TransposedProduct(const PaddedMatrix& left, const PaddedMatrix& right,
                               const uint64_t* mask = nullptr) {
  PaddedMatrix out(left.cols, right.cols);
  std::fill(out.values.begin(), out.values.end(), 1.0F);
  AddTransposedProduct(Left(left, mask), right.view(), right.cols, out.view());
  return out;
}

// How a computation with more digits has it.
void ExpectProduct(const PaddedMatrix& left, const PaddedMatrix& right, const PaddedMatrix& found,
                   double start) {
  for (int64_t row = 0; row < left.rows; ++row) {
    for (int64_t c = 0; c < right.cols; ++c) {
      double sum = start, size = 1;
      for (int64_t k = 0; k < left.cols; ++k) {
        const double term = static_cast<double>(left.at(row, k)) * right.at(k, c);
        sum += term;
        size += std::abs(term);
      }
      if (std::isnan(sum)) {
        ASSERT_TRUE(std::isnan(found.at(row, c))) << row << ", " << c;
      } else if (std::isinf(sum)) {
        ASSERT_EQ(found.at(row, c), sum) << row << ", " << c;
      } else {
        ASSERT_NEAR(found.at(row, c), sum, 2e-6 * size) << row << ", " << c;
      }
    }
  }
}

void ExpectSameBits(const PaddedMatrix& found, const PaddedMatrix& wanted) {
  for (int64_t row = 0; row < wanted.rows; ++row) {
    for (int64_t c = 0; c < wanted.cols; ++c) {
      ASSERT_THAT(found.at(row, c), testing::NanSensitiveFloatEq(wanted.at(row, c)));
      if (!std::isnan(wanted.at(row, c))) {
        ASSERT_EQ(found.at(row, c), wanted.at(row, c));
      }
    }
  }
}

struct Shape {
  int64_t rows, terms, cols;
};

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> kShapes = [] {
    std::vector<Shape> shapes = {{0, 3, 5},      {2, 0, 5},    {97, 200, 47},
                                 {13, 131, 208}, {7, 300, 65}, {1, 10, 1000}};
    for (const int64_t width : {1, 3, 31, 33, 100}) {
      shapes.push_back({width, 33, width});
      shapes.push_back({23, width, 129});
      shapes.push_back({8, width, width});
    }
    return shapes;
  }();
  return kShapes;
}

class ProductTest : public EveryTargetTest {};

TEST_P(ProductTest, EveryValueIsTheSumOfItsTerms) {
  for (const Shape& shape : Shapes()) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.terms << " x " << shape.cols);
    const PaddedMatrix left = RandomPadded(1, shape.rows, shape.terms);
    const PaddedMatrix right = RandomPadded(2, shape.terms, shape.cols);
    ExpectProduct(left, right, Product(left, right), 0);
    ExpectProduct(left, right, TransposedProduct(TransposeOf(left), right), 1);
  }
}

TEST_P(ProductTest, AMaskChangesNoBit) {
  for (const double kept : {0.0, 0.1, 0.4, 0.7}) {
    for (const Shape& shape : Shapes()) {
      SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.terms << " x " << shape.cols
                                      << ", " << kept << " kept");
      PaddedMatrix left = RandomPadded(3, shape.rows, shape.terms);
      const std::vector<uint64_t> mask = LeaveOut(&left, kept);
      const PaddedMatrix right = RandomPadded(4, shape.terms, shape.cols);
      ExpectSameBits(Product(left, right, mask.data()), Product(left, right));
      const PaddedMatrix other = RandomPadded(5, shape.rows, shape.cols);
      ExpectSameBits(TransposedProduct(left, other, mask.data()), TransposedProduct(left, other));
    }
  }
}

TEST_P(ProductTest, NanAndInfinityMeetZerosBehindTheMaskToo) {
  for (const float bad : {kQuietNan, kInfinite, -kInfinite}) {
    // In the last columns, which no whole vector has, and in others.
    for (const int64_t at : {0, 17, 211}) {
      PaddedMatrix left = RandomPadded(6, 70, 90);
      const std::vector<uint64_t> mask = LeaveOut(&left, 0.25);
      PaddedMatrix right = RandomPadded(7, 90, 212);
      right.at(41, at) = bad;
      const PaddedMatrix found = Product(left, right, mask.data());
      ExpectProduct(left, right, found, 0);
      ExpectSameBits(found, Product(left, right));
      PaddedMatrix other = RandomPadded(8, 70, 212);
      other.at(41, at) = bad;
      const PaddedMatrix back = TransposedProduct(left, other, mask.data());
      ExpectProduct(TransposeOf(left), other, back, 1);
      ExpectSameBits(back, TransposedProduct(left, other));
      for (int64_t row = 0; row < back.rows; ++row) {
        EXPECT_EQ(std::isnan(back.at(row, at)), std::isnan(bad) || left.at(41, row) == 0) << row;
        EXPECT_TRUE(std::isfinite(back.at(row, at ^ 1))) << "a column without one";
      }
    }
  }
}

TEST_P(ProductTest, NanAndInfinityOfTheLeftFactorReachTheirRowAlone) {
  for (const float bad : {kQuietNan, kInfinite}) {
    PaddedMatrix left = RandomPadded(6, 70, 90);
    std::vector<uint64_t> mask = LeaveOut(&left, 0.25);
    left.at(69, 70) = bad;
    mask[69 * MaskWords(90) + 1] |= uint64_t{1} << (70 % 64);
    const PaddedMatrix right = RandomPadded(7, 90, 33);
    const PaddedMatrix found = Product(left, right, mask.data());
    ExpectProduct(left, right, found, 0);
    EXPECT_TRUE(std::isfinite(found.at(68, 0)));
    EXPECT_FALSE(std::isfinite(found.at(69, 0)));
  }
}

TEST_P(ProductTest, HowRowsAreCutIntoCallsChangesNoBit) {
  PaddedMatrix left = RandomPadded(10, 301, 133);
  const std::vector<uint64_t> mask = LeaveOut(&left, 0.3);
  const PaddedMatrix right = RandomPadded(11, 133, 61), other = RandomPadded(12, 301, 61);
  for (const uint64_t* bits : {static_cast<const uint64_t*>(nullptr), mask.data()}) {
    PaddedMatrix cut(301, 61), added(133, 61);
    std::fill(added.values.begin(), added.values.end(), 1.0F);
    int64_t begin = 0;
    for (const int64_t end : {0, 1, 4, 100, 229, 301}) {
      const LeftFactor part = {{&left.at(begin, 0), left.stride},
                               end - begin,
                               133,
                               bits == nullptr ? nullptr : bits + begin * MaskWords(133)};
      Multiply(part, right.view(), 61, {&cut.at(begin, 0), cut.stride});
      AddTransposedProduct(part, {&other.at(begin, 0), other.stride}, 61, added.view());
      begin = end;
    }
    ExpectSameBits(cut, Product(left, right, bits));
    ExpectSameBits(added, TransposedProduct(left, other, bits));
  }
}

TEST_P(ProductTest, RowsWithoutRoomAreNotOverrun) {
  for (const int64_t cols : {1, 3, 15, 31, 33, 47, 100, 209}) {
    PaddedMatrix left = RandomPadded(13, 45, 40);
    const std::vector<uint64_t> mask = LeaveOut(&left, 0.3);
    const PaddedMatrix right = RandomPadded(14, 40, cols), other = RandomPadded(15, 45, cols);
    for (const uint64_t* bits : {static_cast<const uint64_t*>(nullptr), mask.data()}) {
      PaddedMatrix tight(45, cols, cols), added(40, cols, cols);
      std::fill(added.values.begin(), added.values.end(), 1.0F);
      tight.values.back() = added.values.back() = kUntouched;
      Multiply(Left(left, bits), right.view(), cols, tight.view());
      AddTransposedProduct(Left(left, bits), other.view(), cols, added.view());
      ExpectSameBits(tight, Product(left, right, bits));
      ExpectSameBits(added, TransposedProduct(left, other, bits));
      EXPECT_EQ(tight.values.back(), kUntouched) << cols;
      EXPECT_EQ(added.values.back(), kUntouched) << cols;
    }
  }
}

TEST_P(ProductTest, ColumnsMayBeTakenByGroups) {
  PaddedMatrix left = RandomPadded(16, 50, 40);
  const std::vector<uint64_t> mask = LeaveOut(&left, 0.3);
  const PaddedMatrix right = RandomPadded(17, 40, 100);
  for (const uint64_t* bits : {static_cast<const uint64_t*>(nullptr), mask.data()}) {
    PaddedMatrix out(50, 100);
    for (const auto& [first, last] : {std::pair{64, 100}, {0, 16}, {16, 64}}) {
      Multiply(Left(left, bits), {&right.at(0, first), right.stride}, last - first,
               {&out.at(0, first), out.stride});
    }
    ExpectSameBits(out, Product(left, right, bits));
  }
}

HALOGRAPH_EVERY_TARGET(ProductTest);

TEST(TransposeMatrixTest, RowsBecomeColumns) {
  for (const int64_t cols : {1, 16, 33, 100}) {
    const PaddedMatrix matrix = RandomPadded(18, 35, cols), transposed = TransposeOf(matrix);
    for (int64_t row = 0; row < 35; ++row) {
      for (int64_t c = 0; c < cols; ++c) EXPECT_EQ(transposed.at(c, row), matrix.at(row, c));
    }
  }
}

}  // namespace
}  // namespace halograph

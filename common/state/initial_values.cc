// Compiled so that no multiplication and addition become one operation (CMakeLists.txt).
#include "common/state/initial_values.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/rng.h"

namespace halograph {
namespace {

constexpr double kLog2 = 0x1.62e42fefa39efp-1;
constexpr double kHalfPi = 0x1.921fb54442d18p+0;

// What x^n has in the series of sine and cosine: 1, 1, -1/2!, -1/3!, 1/4!, 1/5!, ...
struct Series {
  constexpr Series() {
    double factorial = 1;
    for (int n = 0; n < kCount; ++n) {
      if (n > 0) factorial *= n;  // exact up to 18!
      of[n] = (n / 2 % 2 == 0 ? 1 : -1) / factorial;
    }
  }
  static constexpr int kCount = 18;
  double of[kCount] = {};
};
constexpr Series kSeries;

// Uniform in [0, 1), of 53 bits.
double Draw(uint64_t row_key, int64_t column) {
  return static_cast<double>(SubKey(row_key, static_cast<uint64_t>(column)) >> 11) * 0x1.0p-53;
}

}  // namespace

double PlainLog(double x) {
  // x = mantissa * 2^exponent, the mantissa within sqrt(1/2) and sqrt(2).
  const auto bits = std::bit_cast<uint64_t>(x);
  constexpr uint64_t kHalfRoot = 0x3fe6a09e667f3bcd;  // bits of sqrt(1/2)
  const auto exponent = static_cast<int64_t>(bits - kHalfRoot) >> 52;
  const auto mantissa = std::bit_cast<double>(bits - (static_cast<uint64_t>(exponent) << 52));
  // log m = 2 artanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| < 0.172.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (int n = 23; n >= 3; n -= 2) sum = sum * square + 1.0 / n;
  return static_cast<double>(exponent) * kLog2 + 2 * (s + s * (square * sum));
}

SineCosine PlainSineCosine(double turns) {
  const auto quarter = static_cast<int>(4 * turns + 0.5);  // 0 to 4; exact below
  const double angle = (4 * turns - quarter) * kHalfPi;    // within a quarter of pi
  const double square = angle * angle;
  double sine = 0;
  double cosine = 0;
  for (int n = Series::kCount - 2; n >= 0; n -= 2) {
    cosine = cosine * square + kSeries.of[n];
    sine = sine * square + kSeries.of[n + 1];
  }
  sine *= angle;
  switch (quarter % 4) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

InitialValues::InitialValues(const MutableTensorSpec& spec, int64_t total_rows)
    : kind_(spec.initializer.kind), seed_(spec.initializer.seed), dim_(spec.dim) {
  const Initializer& start = spec.initializer;
  if (kind_ == Initializer::Kind::kXavier) {
    const double limit =
        std::sqrt(6 / (static_cast<double>(total_rows) + static_cast<double>(dim_)));
    from_ = -limit;
    width_ = 2 * limit;
  } else {
    from_ = start.a;
    width_ = kind_ == Initializer::Kind::kUniform ? start.b - start.a : start.b;
  }
}

void InitialValues::Fill(int64_t original_id, float* row) const {
  const uint64_t key = SubKey(seed_, static_cast<uint64_t>(original_id));
  switch (kind_) {
    case Initializer::Kind::kZeros:
    case Initializer::Kind::kConstant:
      std::fill_n(row, dim_, static_cast<float>(from_));
      return;
    case Initializer::Kind::kUniform:
    case Initializer::Kind::kXavier:
      for (int64_t c = 0; c < dim_; ++c) {
        row[c] = static_cast<float>(from_ + width_ * Draw(key, c));
      }
      return;
    case Initializer::Kind::kNormal:
      for (int64_t c = 0; c < dim_; c += 2) {
        const double length = std::sqrt(-2 * PlainLog(1 - Draw(key, c)));
        const auto [sine, cosine] = PlainSineCosine(Draw(key, c + 1));
        row[c] = static_cast<float>(from_ + width_ * (length * cosine));
        if (c + 1 < dim_) row[c + 1] = static_cast<float>(from_ + width_ * (length * sine));
      }
      return;
  }
}

}  // namespace halograph

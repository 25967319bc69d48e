// Compiled once for each instruction set and chosen when first called (Highway).
#include "trainer/kernels/bf16_product.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/bf16_product.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "trainer/blocks/bf16_rounding-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_ATTR void PairTwoRows(const uint16_t* low, const uint16_t* high, int64_t cols, uint32_t* out) {
  const hn::CappedTag<uint32_t, 16> wide;
  const hn::Rebind<uint16_t, decltype(wide)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  int64_t c = 0;
  for (; c + lanes <= cols; c += lanes) {
    const auto upper = hn::PromoteTo(wide, hn::LoadU(narrow, high + c));
    const auto lower = hn::PromoteTo(wide, hn::LoadU(narrow, low + c));
    hn::StoreU(hn::Or(hn::ShiftLeft<16>(upper), lower), wide, out + c);
  }
  for (; c < cols; ++c) out[c] = low[c] | static_cast<uint32_t>(high[c]) << 16;
}

HWY_ATTR void Pair(const ConstBf16Rows& rows, int64_t count, int64_t cols,
                   const MutablePairs& out) {
  for (int64_t row = 0; row < count; row += 2) {
    const uint16_t* const low = rows.data + row * rows.stride;
    uint32_t* const to = out.data + row / 2 * out.stride;
    if (row + 1 < count) {
      PairTwoRows(low, low + rows.stride, cols, to);
    } else {
      for (int64_t c = 0; c < cols; ++c) to[c] = low[c];
    }
  }
}

// Two rows of float32; without a second one that is zeros.
template <bool kSecond>
HWY_ATTR void RoundTwoRows(const float* low, const float* high, int64_t cols, uint32_t* out) {
  const RoundedBits d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto upper_half = hn::Set(d, 0xffff0000U);
  int64_t c = 0;
  for (; c + lanes <= cols; c += lanes) {
    auto pairs = hn::ShiftRight<16>(RoundToUpper(low + c));
    if (kSecond) pairs = hn::Or(pairs, hn::And(RoundToUpper(high + c), upper_half));
    hn::StoreU(pairs, d, out + c);
  }
  for (; c < cols; ++c) {
    out[c] = RoundToUpper(low[c]) >> 16;
    if (kSecond) out[c] |= RoundToUpper(high[c]) & 0xffff0000U;
  }
}

HWY_ATTR void RoundAndPair(const ConstRows& rows, int64_t count, int64_t cols,
                           const MutablePairs& out) {
  for (int64_t row = 0; row < count; row += 2) {
    const float* const low = rows.data + row * rows.stride;
    uint32_t* const to = out.data + row / 2 * out.stride;
    if (row + 1 < count) {
      RoundTwoRows<true>(low, low + rows.stride, cols, to);
    } else {
      RoundTwoRows<false>(low, nullptr, cols, to);
    }
  }
}

constexpr int64_t kFour = 4;

// Four rows of four values, by vectors of four.
#if HWY_TARGET == HWY_SCALAR
void TurnFour(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  for (int64_t r = 0; r < kFour; ++r) {
    for (int64_t c = 0; c < kFour; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}
#else
HWY_ATTR void TurnFour(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  const hn::FixedTag<uint32_t, kFour> d;
  const auto row0 = hn::LoadU(d, from), row1 = hn::LoadU(d, from + from_stride);
  const auto row2 = hn::LoadU(d, from + 2 * from_stride);
  const auto row3 = hn::LoadU(d, from + 3 * from_stride);
  const auto low01 = hn::InterleaveLower(d, row0, row1),
             high01 = hn::InterleaveUpper(d, row0, row1);
  const auto low23 = hn::InterleaveLower(d, row2, row3),
             high23 = hn::InterleaveUpper(d, row2, row3);
  hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, to + to_stride);
  hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, to + 2 * to_stride);
  hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, to + 3 * to_stride);
}
#endif

// 16 rows at a time, whose parts of the result are whole lines of the cache.
HWY_ATTR void Turn(const ConstPairs& pairs, int64_t rows, int64_t cols, const MutablePairs& out) {
  constexpr int64_t kSide = 16;
  for (int64_t row = 0; row < rows; row += kSide) {
    const int64_t last = std::min(rows, row + kSide);
    for (int64_t col = 0; col < cols; col += kFour) {
      const bool whole = last - row == kSide && cols - col >= kFour;
      for (int64_t r = row; whole && r < last; r += kFour) {
        TurnFour(pairs.data + r * pairs.stride + col, pairs.stride, out.data + col * out.stride + r,
                 out.stride);
      }
      if (whole) continue;
      for (int64_t c = col; c < std::min(cols, col + kFour); ++c) {
        for (int64_t r = row; r < last; ++r) {
          out.data[c * out.stride + r] = pairs.data[r * pairs.stride + c];
        }
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(Pair);
HWY_EXPORT(RoundAndPair);
HWY_EXPORT(Turn);

void PairRows(const ConstBf16Rows& rows, int64_t count, int64_t cols, const MutablePairs& out) {
  HWY_DYNAMIC_DISPATCH(Pair)(rows, count, cols, out);
}

void PairRows(const ConstRows& rows, int64_t count, int64_t cols, const MutablePairs& out) {
  HWY_DYNAMIC_DISPATCH(RoundAndPair)(rows, count, cols, out);
}

void TurnPairs(const ConstPairs& pairs, int64_t rows, int64_t cols, const MutablePairs& out) {
  HWY_DYNAMIC_DISPATCH(Turn)(pairs, rows, cols, out);
}

}  // namespace halograph
#endif  // HWY_ONCE

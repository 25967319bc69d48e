// Pairs are made by code that is compiled once for each instruction set and chosen when first
// called (Highway). Highway 1.0 has no products of bfloat16: these are written for the one set that
// does.
#include "trainer/kernels/bf16_product.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "trainer/kernels/dense_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/bf16_product.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Whether Highway computes with AVX-512, as it may be told not to.
bool HasAvx512() { return HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL; }

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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#if HWY_ARCH_X86_64 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG)
#define HALOGRAPH_BF16_PRODUCTS 1
#include <immintrin.h>
#define HALOGRAPH_BF16_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#else
#define HALOGRAPH_BF16_PRODUCTS 0
#endif

namespace halograph {

HWY_EXPORT(HasAvx512);
HWY_EXPORT(Pair);

void PairRows(const ConstBf16Rows& rows, int64_t count, int64_t cols, const MutablePairs& out) {
  HWY_DYNAMIC_DISPATCH(Pair)(rows, count, cols, out);
}

#if HALOGRAPH_BF16_PRODUCTS

namespace {

constexpr int kVectorLanes = 16;

HALOGRAPH_BF16_TARGET inline __m512i BroadcastPair(const uint32_t* pair) {
  uint32_t bits;
  std::memcpy(&bits, pair, sizeof(bits));  // rows of bfloat16 are read as pairs
  return _mm512_set1_epi32(static_cast<int>(bits));
}

constexpr int PairTileRows(int vectors) { return vectors == 4 ? 6 : 8; }

template <int N>
HALOGRAPH_BF16_TARGET __attribute__((noinline)) void MultiplyPairTile(const Tile<uint32_t>& tile) {
  constexpr int kRows = PairTileRows(N);
  __m512 sums[kRows][N];
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < N; ++n) {
      sums[r][n] = tile.add
                       ? _mm512_loadu_ps(tile.out.data + r * tile.out.stride + n * kVectorLanes)
                       : _mm512_setzero_ps();
    }
  }
  const std::array<const uint32_t*, 8> left = tile.left;
  const uint32_t* right = tile.right.data;
  const int64_t stride = tile.right.stride, end = tile.terms * tile.left_step;
  for (int64_t at = 0; at < end; at += tile.left_step, right += stride) {
    __m512i row[N];
    for (int n = 0; n < N; ++n) row[n] = _mm512_loadu_si512(right + n * kVectorLanes);
    for (int r = 0; r < kRows; ++r) {
      const __m512i factor = BroadcastPair(left[r] + at);
      for (int n = 0; n < N; ++n) {
        sums[r][n] = _mm512_dpbf16_ps(sums[r][n], (__m512bh)factor, (__m512bh)row[n]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < N; ++n) {
      _mm512_storeu_ps(tile.out.data + r * tile.out.stride + n * kVectorLanes, sums[r][n]);
    }
  }
}

struct PairTiles {
  using Value = uint32_t;
  static constexpr int kLanes = kVectorLanes;
  static constexpr int kVectors = 4;
  static constexpr int Rows(int vectors) { return PairTileRows(vectors); }
  template <int N>
  static void Multiply(const Tile<uint32_t>& tile) {
    MultiplyPairTile<N>(tile);
  }
};

}  // namespace

bool HasBf16Products() {
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0 &&
                          __builtin_cpu_supports("avx512bw") != 0 &&
                          __builtin_cpu_supports("avx512vl") != 0;
  return has && HWY_DYNAMIC_DISPATCH(HasAvx512)();
}

void MultiplyPairs(const ConstPairs& left, int64_t rows, int64_t pairs, const ConstPairs& right,
                   int64_t cols, const MutableRows& out) {
  if (rows == 0 || cols == 0) return;
  MultiplyDense<PairTiles>({left.data,
                            left.stride,
                            1,
                            rows,
                            pairs,
                            {right.data, right.stride},
                            cols,
                            out,
                            /*add=*/false});
}

void AddTransposedPairs(const ConstPairs& left, int64_t rows, int64_t pairs,
                        const ConstPairs& right, int64_t cols, const MutableRows& out) {
  if (rows == 0 || cols == 0 || pairs == 0) return;
  MultiplyDense<PairTiles>({left.data,
                            1,
                            left.stride,
                            rows,
                            pairs,
                            {right.data, right.stride},
                            cols,
                            out,
                            /*add=*/true});
}

#else

bool HasBf16Products() { return false; }

// Nobody calls these here: they require HasBf16Products.
void MultiplyPairs(const ConstPairs&, int64_t, int64_t, const ConstPairs&, int64_t,
                   const MutableRows&) {
  std::abort();
}
void AddTransposedPairs(const ConstPairs&, int64_t, int64_t, const ConstPairs&, int64_t,
                        const MutableRows&) {
  std::abort();
}

#endif

}  // namespace halograph
#endif  // HWY_ONCE

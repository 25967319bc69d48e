// Highway 1.0 has no products of bfloat16: these are written for the one set that has.
#include "trainer/kernels/avx512_product.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "trainer/kernels/dense_tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HALOGRAPH_AVX512_BF16 1
#include <immintrin.h>
#define HALOGRAPH_BF16_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#else
#define HALOGRAPH_AVX512_BF16 0
#endif

namespace halograph {

#if HALOGRAPH_AVX512_BF16

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
      sums[r][n] =
          tile.add
              ? _mm512_loadu_ps(tile.out.data + r * tile.out.stride + int64_t{n} * kVectorLanes)
              : _mm512_setzero_ps();
    }
  }
  const std::array<const uint32_t*, 8> left = tile.left;
  const uint32_t* right = tile.right.data;
  const int64_t stride = tile.right.stride, end = tile.terms * tile.left_step;
  for (int64_t at = 0; at < end; at += tile.left_step, right += stride) {
    __m512i row[N];
    for (int n = 0; n < N; ++n) row[n] = _mm512_loadu_si512(right + int64_t{n} * kVectorLanes);
    for (int r = 0; r < kRows; ++r) {
      const __m512i factor = BroadcastPair(left[r] + at);
      for (int n = 0; n < N; ++n) {
        sums[r][n] = _mm512_dpbf16_ps(sums[r][n], (__m512bh)factor, (__m512bh)row[n]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < N; ++n) {
      _mm512_storeu_ps(tile.out.data + r * tile.out.stride + int64_t{n} * kVectorLanes, sums[r][n]);
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

// `left_row`: pairs from what makes a row of the result to the next; `left_term`: from a term to
// the next.
Dense<uint32_t> ProductOf(const PairProduct& product, int64_t left_row, int64_t left_term,
                          bool add) {
  return {product.left.data, left_row,      left_term,
          product.rows,      product.pairs, {product.right.data, product.right.stride},
          product.cols,      product.out,   add};
}

}  // namespace

bool ProcessorHasAvx512Bf16() {
  return __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

void MultiplyByAvx512(const PairProduct& product) {
  if (product.rows == 0 || product.cols == 0) return;
  MultiplyDense<PairTiles>(ProductOf(product, product.left.stride, 1, /*add=*/false));
}

void AddTransposedByAvx512(const PairProduct& product) {
  if (product.rows == 0 || product.cols == 0 || product.pairs == 0) return;
  MultiplyDense<PairTiles>(ProductOf(product, 1, product.left.stride, /*add=*/true));
}

#else

bool ProcessorHasAvx512Bf16() { return false; }
// Nobody calls these here: they require ProcessorHasAvx512Bf16.
void MultiplyByAvx512(const PairProduct&) { std::abort(); }
void AddTransposedByAvx512(const PairProduct&) { std::abort(); }

#endif

}  // namespace halograph

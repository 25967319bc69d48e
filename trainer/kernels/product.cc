// Compiled once for each instruction set and chosen when first called (Highway).
//
// A dense product is made of tiles of the result that stay in registers: 6 rows of 4 vectors where
// there are 32 registers (6 x 64 values with AVX-512), 6 rows of 2 where there are 16 (6 x 16 with
// AVX2). dense_tiles.h cuts it up.
//
// A product by bits takes kBits rows of the right factor at a time, which stay in the first cache,
// and a row of the result in registers; it adds the terms whose bits are set.
#include "trainer/kernels/product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "trainer/kernels/dense_tiles.h"
#include "trainer/kernels/layer_epilogue.h"

// Vectors whose length is known when run cannot be in arrays: NEON stands in for SVE.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/product.cc"
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

using D = hn::CappedTag<float, kColumnGroup>;
using V = hn::Vec<D>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON;
constexpr int kTileVectors = kManyRegisters ? 4 : 2;
constexpr int kRowVectors = kLanes == 16 ? 13 : 12;
constexpr int64_t kBits = 32;

constexpr int TileRows(int vectors) { return vectors == kTileVectors ? 6 : 8; }

template <int N>
HWY_ATTR HWY_NOINLINE void MultiplyTile(const Tile<float>& tile) {
  constexpr int kRows = TileRows(N);
  const D d;
  V sums[kRows][N];
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < N; ++n) {
      sums[r][n] =
          tile.add ? hn::LoadU(d, tile.out.data + r * tile.out.stride + n * kLanes) : hn::Zero(d);
    }
  }
  const std::array<const float*, 8> left = tile.left;
  const float* right = tile.right.data;
  const int64_t stride = tile.right.stride, end = tile.terms * tile.left_step;
  for (int64_t at = 0; at < end; at += tile.left_step, right += stride) {
    V row[N];
    for (int n = 0; n < N; ++n) row[n] = hn::LoadU(d, right + n * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, left[r][at]);
      for (int n = 0; n < N; ++n) sums[r][n] = hn::MulAdd(factor, row[n], sums[r][n]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < N; ++n) {
      hn::StoreU(sums[r][n], d, tile.out.data + r * tile.out.stride + n * kLanes);
    }
  }
}

struct FloatTiles {
  using Value = float;
  static constexpr int kLanes = HWY_NAMESPACE::kLanes;
  static constexpr int kVectors = kTileVectors;
  static constexpr int Rows(int vectors) { return TileRows(vectors); }
  template <int N>
  static void Multiply(const Tile<float>& tile) {
    MultiplyTile<N>(tile);
  }
};

// Up to kBits terms of rows of the result, by bits.
struct Sparse {
  const float* left;
  int64_t left_row;
  int64_t left_term;
  const uint32_t* bits;  // a word a row of the result, its first term lowest
  int64_t rows;
  ConstRows right;
  int64_t cols;  // N vectors of them, or fewer if there is no room
  MutableRows out;
  bool add;
};

template <int N>
HWY_ATTR HWY_INLINE void AddRow(const float* left, int64_t step, uint32_t bits,
                                const ConstRows& right, bool add, float* out) {
  const D d;
  V sums[N];
  for (int n = 0; n < N; ++n) sums[n] = add ? hn::LoadU(d, out + n * kLanes) : hn::Zero(d);
  for (; bits != 0; bits &= bits - 1) {
    const int64_t term = std::countr_zero(bits);
    const V factor = hn::Set(d, left[term * step]);
    const float* row = right.data + term * right.stride;
    for (int n = 0; n < N; ++n) {
      sums[n] = hn::MulAdd(factor, hn::LoadU(d, row + n * kLanes), sums[n]);
    }
  }
  for (int n = 0; n < N; ++n) hn::StoreU(sums[n], d, out + n * kLanes);
}

template <int N>
HWY_ATTR HWY_NOINLINE void AddRows(const Sparse& sparse) {
  const bool room = sparse.cols == N * kLanes;
  std::array<float, N * kLanes> aside{};
  for (int64_t row = 0; row < sparse.rows; ++row) {
    float* out = sparse.out.data + row * sparse.out.stride;
    float* sums = room ? out : aside.data();
    const auto bytes = static_cast<size_t>(sparse.cols) * sizeof(float);
    if (!room && sparse.add) std::memcpy(sums, out, bytes);
    AddRow<N>(sparse.left + row * sparse.left_row, sparse.left_term, sparse.bits[row], sparse.right,
              sparse.add, sums);
    if (!room) std::memcpy(out, sums, bytes);
  }
}

template <int... I>
HWY_ATTR void AddRowsOf(int64_t vectors, const Sparse& sparse, std::integer_sequence<int, I...>) {
  static constexpr std::array kByVectors = {&AddRows<I + 1>...};
  kByVectors[vectors - 1](sparse);
}

// Whether all of `rows` rows are finite, the columns that fill up the last vector apart.
HWY_ATTR bool AllFinite(const ConstRows& matrix, int64_t rows, int64_t cols) {
  const D d;
  V sum = hn::Zero(d);  // of zeros, unless a value is not finite
  float rest = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float* values = matrix.data + row * matrix.stride;
    int64_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) {
      sum = hn::MulAdd(hn::LoadU(d, values + c), hn::Zero(d), sum);
    }
    for (; c < cols; ++c) rest += values[c] * 0.0F;
  }
  return hn::AllTrue(d, hn::Eq(sum, hn::Zero(d))) && rest == 0;
}

// Calls make(columns' part, whether its right factor is finite) over the columns, a group at a
// time that fits into registers.
template <typename Make>
HWY_ATTR void ForColumnGroups(const ConstRows& right, int64_t terms, int64_t cols,
                              const MutableRows& out, const Make& make) {
  const EvenParts groups = {(cols + kLanes - 1) / kLanes, kRowVectors};
  const bool room = out.stride >= RoomForColumns(cols);
  for (int64_t group = 0; group < groups.parts(); ++group) {
    const int64_t column = groups.begin(group) * kLanes;
    const int64_t vectors = groups.begin(group + 1) - groups.begin(group);
    const int64_t there = std::min(vectors * kLanes, cols - column);
    Sparse sparse{};
    sparse.right = {right.data + column, right.stride};
    sparse.cols = room ? vectors * kLanes : there;
    sparse.out = {out.data + column, out.stride};
    make(sparse, vectors, AllFinite(sparse.right, terms, there));
  }
}

constexpr auto kUpToRowVectors = std::make_integer_sequence<int, kRowVectors>();

constexpr uint32_t LowBits(int64_t count) {
  return static_cast<uint32_t>((uint64_t{1} << count) - 1);
}

HWY_ATTR void MultiplyByBits(const LeftFactor& left, const ConstRows& right, int64_t cols,
                             const MutableRows& out) {
  const int64_t words = MaskWords(left.cols);
  std::array<uint32_t, 64> bits;
  for (int64_t term = 0; term < left.cols; term += kBits) {
    const int64_t terms = std::min(kBits, left.cols - term);
    const ConstRows part = {right.data + term * right.stride, right.stride};
    ForColumnGroups(part, terms, cols, out, [&](Sparse sparse, int64_t vectors, bool finite) {
      const MutableRows to = sparse.out;
      sparse.left_row = left.values.stride;
      sparse.left_term = 1;
      sparse.bits = bits.data();
      sparse.add = term > 0;
      for (int64_t row = 0; row < left.rows; row += 64) {
        sparse.rows = std::min<int64_t>(64, left.rows - row);
        for (int64_t r = 0; r < sparse.rows; ++r) {
          const uint64_t word = left.mask[(row + r) * words + term / 64];
          bits[r] = finite ? static_cast<uint32_t>(word >> (term % 64)) : LowBits(terms);
        }
        sparse.left = left.values.data + row * left.values.stride + term;
        sparse.out.data = to.data + row * to.stride;
        AddRowsOf(vectors, sparse, kUpToRowVectors);
      }
    });
  }
}

// 32 words of 32 bits: bit j of word i becomes bit i of word j.
HWY_ATTR void TransposeBits(uint32_t* words) {
  uint32_t low = 0x0000ffff;
  for (uint32_t width = 16; width != 0; width /= 2, low ^= low << width) {
    for (uint32_t begin = 0; begin < 32; begin += 2 * width) {
      for (uint32_t i = begin; i < begin + width; ++i) {
        const uint32_t swapped = (words[i] >> width ^ words[i + width]) & low;
        words[i] ^= swapped << width;
        words[i + width] ^= swapped;
      }
    }
  }
}

HWY_ATTR void AddTransposedByBits(const LeftFactor& left, const ConstRows& right, int64_t cols,
                                  const MutableRows& out) {
  const int64_t words = MaskWords(left.cols);
  std::array<uint32_t, kBits> bits;
  for (int64_t term = 0; term < left.rows; term += kBits) {
    const int64_t terms = std::min(kBits, left.rows - term);
    const ConstRows part = {right.data + term * right.stride, right.stride};
    ForColumnGroups(part, terms, cols, out, [&](Sparse sparse, int64_t vectors, bool finite) {
      const MutableRows to = sparse.out;
      sparse.left_row = 1;
      sparse.left_term = left.values.stride;
      sparse.bits = bits.data();
      sparse.add = true;
      for (int64_t row = 0; row < left.cols; row += kBits) {
        sparse.rows = std::min(kBits, left.cols - row);
        bits.fill(0);
        for (int64_t t = 0; t < terms; ++t) {
          const uint64_t word = left.mask[(term + t) * words + row / 64];
          bits[t] = finite ? static_cast<uint32_t>(word >> (row % 64)) : LowBits(kBits);
        }
        TransposeBits(bits.data());
        sparse.left = left.values.data + term * left.values.stride + row;
        sparse.out.data = to.data + row * to.stride;
        AddRowsOf(vectors, sparse, kUpToRowVectors);
      }
    });
  }
}

// Whether so few bits are set that it pays to look at them.
HWY_ATTR bool FewBits(const LeftFactor& left) {
  if (left.mask == nullptr) return false;
  int64_t set = 0;
  for (int64_t i = 0; i < left.rows * MaskWords(left.cols); ++i) set += std::popcount(left.mask[i]);
  return static_cast<double>(set) < 0.45 * static_cast<double>(left.rows * left.cols);
}

HWY_ATTR void MultiplyRows(const LeftFactor& left, const ConstRows& right, int64_t cols,
                           const MutableRows& out) {
  if (left.rows == 0 || cols == 0) return;
  if (FewBits(left)) return MultiplyByBits(left, right, cols, out);
  MultiplyDense<FloatTiles>({left.values.data,
                             left.values.stride,
                             1,
                             left.rows,
                             left.cols,
                             {right.data, right.stride},
                             cols,
                             out,
                             /*add=*/false});
}

HWY_ATTR void AddTransposed(const LeftFactor& left, const ConstRows& right, int64_t cols,
                            const MutableRows& out) {
  if (left.rows == 0 || left.cols == 0 || cols == 0) return;
  if (FewBits(left)) return AddTransposedByBits(left, right, cols, out);
  MultiplyDense<FloatTiles>({left.values.data,
                             1,
                             left.values.stride,
                             left.cols,
                             left.rows,
                             {right.data, right.stride},
                             cols,
                             out,
                             /*add=*/true});
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {

HWY_EXPORT(MultiplyRows);
HWY_EXPORT(AddTransposed);

void Multiply(const LeftFactor& left, const ConstRows& right, int64_t cols,
              const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(MultiplyRows)(left, right, cols, out);
}

void AddTransposedProduct(const LeftFactor& left, const ConstRows& right, int64_t cols,
                          const MutableRows& out) {
  HWY_DYNAMIC_DISPATCH(AddTransposed)(left, right, cols, out);
}

void TransposeMatrix(const ConstRows& matrix, int64_t rows, int64_t cols, const MutableRows& out) {
  constexpr int64_t kSide = 16;
  for (int64_t row = 0; row < rows; row += kSide) {
    for (int64_t col = 0; col < cols; col += kSide) {
      for (int64_t r = row; r < std::min(rows, row + kSide); ++r) {
        for (int64_t c = col; c < std::min(cols, col + kSide); ++c) {
          out.data[c * out.stride + r] = matrix.data[r * matrix.stride + c];
        }
      }
    }
  }
}

}  // namespace halograph
#endif  // HWY_ONCE

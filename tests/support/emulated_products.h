// What processors do that have products of bfloat16, value by value, and AMX's unit of tiles
// without the processor: the oracles of trainer/kernels/product_kernel.h.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trainer/kernels/amx_tiles.h"
#include "trainer/kernels/product_kernel.h"

namespace halograph {

// Denormal numbers count as 0, of their sign.
inline float Flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}
inline float FlushedFma(float a, float b, float sum) {
  return Flushed(std::fma(Flushed(a), Flushed(b), Flushed(sum)));
}
inline float FlushedSum(float a, float b) { return Flushed(Flushed(a) + Flushed(b)); }

// Terms 2k and 2k + 1.
inline float EvenOf(uint32_t pair) { return std::bit_cast<float>(pair << 16); }
inline float OddOf(uint32_t pair) { return std::bit_cast<float>(pair & 0xffff0000U); }

// A sum that goes on over pairs, by VDPBF16PS: the odd term first.
struct Avx512Sum {
  float value;
  void Add(uint32_t left, uint32_t right) {
    value = FlushedFma(OddOf(left), OddOf(right), value);
    value = FlushedFma(EvenOf(left), EvenOf(right), value);
  }
  [[nodiscard]] float Result() const { return value; }
};

// The same by TDPBF16PS: of each group of 16 pairs, even and odd terms apart.
struct AmxSum {
  float value;
  float even = 0, odd = 0;
  int pairs = 0;
  void Add(uint32_t left, uint32_t right) {
    even = FlushedFma(EvenOf(left), EvenOf(right), even);
    odd = FlushedFma(OddOf(left), OddOf(right), odd);
    if (++pairs == kTileSide) *this = {Result()};
  }
  [[nodiscard]] float Result() const {
    return pairs == 0 ? value : FlushedSum(value, FlushedSum(even, odd));
  }
};

// Any product, a value after the other. `left_row`, `left_pair`: from what makes a row of the
// result to the next, and from a pair to the next.
template <typename Sum>
void MultiplyEachValue(const PairProduct& product, int64_t left_row, int64_t left_pair, bool add) {
  for (int64_t row = 0; row < product.rows; ++row) {
    for (int64_t col = 0; col < product.cols; ++col) {
      float& out = product.out.data[row * product.out.stride + col];
      Sum sum = {add ? out : 0.0F};
      for (int64_t p = 0; p < product.pairs; ++p) {
        sum.Add(product.left.data[row * left_row + p * left_pair],
                product.right.data[p * product.right.stride + col]);
      }
      out = sum.Result();
    }
  }
}

template <typename Sum>
inline constexpr ProductKernel kEachValue = {
    "each value",
    [](const PairProduct& product) {
      MultiplyEachValue<Sum>(product, product.left.stride, 1, /*add=*/false);
    },
    [](const PairProduct& product) {
      MultiplyEachValue<Sum>(product, 1, product.left.stride, /*add=*/true);
    }};

// Eight tiles that know their shapes.
class EmulatedTiles {
 public:
  EmulatedTiles() = default;
  ~EmulatedTiles() { Check(!configured_); }
  EmulatedTiles(const EmulatedTiles&) = delete;
  EmulatedTiles& operator=(const EmulatedTiles&) = delete;

  void Configure(const TileShapes& shapes) {
    shapes_ = shapes;
    configured_ = true;
    tiles_ = {};
    Check(shapes.palette == 1 && shapes.start_row == 0);
  }
  void Release() { configured_ = false; }

  template <int T>
  void Zero() {
    Check(Usable(T));
    tiles_[T] = {};
  }
  template <int T>
  void Load(const void* rows, int64_t bytes) {
    Check(Usable(T));
    tiles_[T] = {};
    for (int row = 0; row < shapes_.rows[T]; ++row) {
      std::memcpy(tiles_[T][row].data(), static_cast<const std::byte*>(rows) + row * bytes,
                  shapes_.row_bytes[T]);
    }
  }
  template <int T>
  void Store(void* rows, int64_t bytes) {
    Check(Usable(T));
    for (int row = 0; row < shapes_.rows[T]; ++row) {
      std::memcpy(static_cast<std::byte*>(rows) + row * bytes, tiles_[T][row].data(),
                  shapes_.row_bytes[T]);
    }
  }
  template <int S, int L, int R>
  void MultiplyAdd() {
    Check(Usable(S) && Usable(L) && Usable(R) && S != L && S != R && L != R);
    Check(shapes_.rows[S] == shapes_.rows[L] && shapes_.row_bytes[S] == shapes_.row_bytes[R] &&
          shapes_.row_bytes[L] == 4 * shapes_.rows[R]);
    for (int row = 0; row < shapes_.rows[S]; ++row) {
      for (int col = 0; col < shapes_.row_bytes[S] / 4; ++col) {
        float even = 0, odd = 0;
        for (int pair = 0; pair < shapes_.rows[R]; ++pair) {
          const uint32_t left = tiles_[L][row][pair], right = tiles_[R][pair][col];
          even = FlushedFma(EvenOf(left), EvenOf(right), even);
          odd = FlushedFma(OddOf(left), OddOf(right), odd);
        }
        uint32_t& sum = tiles_[S][row][col];
        sum = std::bit_cast<uint32_t>(FlushedSum(std::bit_cast<float>(sum), FlushedSum(even, odd)));
      }
    }
  }

  // What the processor would have refused so far, and units that were not released; of this thread.
  [[nodiscard]] static int64_t mistakes() { return mistakes_; }

 private:
  [[nodiscard]] bool Usable(int tile) const {
    return configured_ && shapes_.rows[tile] > 0 && shapes_.rows[tile] <= 16 &&
           shapes_.row_bytes[tile] > 0 && shapes_.row_bytes[tile] <= 64;
  }
  static void Check(bool right) { mistakes_ += right ? 0 : 1; }

  using Tile = std::array<std::array<uint32_t, 16>, 16>;
  static inline thread_local int64_t mistakes_ = 0;
  TileShapes shapes_;
  bool configured_ = false;
  std::array<Tile, 8> tiles_ = {};
};

// AMX's kernel over that unit.
inline constexpr ProductKernel kEmulatedAmx = {"emulated_amx",
                                               [](const PairProduct& product) {
                                                 EmulatedTiles unit;
                                                 MultiplyByTiles(unit, product, /*add=*/false);
                                               },
                                               [](const PairProduct& product) {
                                                 EmulatedTiles unit;
                                                 AddTransposedByTiles(unit, product);
                                               }};

}  // namespace halograph

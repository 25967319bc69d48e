// How a dense product is cut into tiles of the result that stay in registers. What multiplies one
// tile is given as a type, since it belongs to one instruction set: product.cc, avx512_product.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "trainer/blocks/gather_rows.h"
#include "trainer/kernels/product.h"

namespace halograph {

// Terms of the right factor's part of a tile, which stays in the first cache.
inline constexpr int64_t kTileTerms = 128;

// `count` things in as many even parts as it takes for none to be above `most`.
struct EvenParts {
  int64_t count;
  int64_t most;
  int64_t parts() const { return (count + most - 1) / most; }
  int64_t begin(int64_t part) const { return part * count / parts(); }
};

// A factor is of floats, or of pairs of bfloat16 in four bytes each. Then a pair counts as one
// term.
template <typename Value>
struct FactorRows {
  const Value* data;
  int64_t stride;  // values from one row to the next
};

// One tile: terms in order, each row of the left factor by a pointer of its own.
template <typename Value>
struct Tile {
  std::array<const Value*, 8> left;
  int64_t left_step;  // values from a term to the next
  FactorRows<Value> right;
  int64_t terms;
  MutableRows out;
  bool add;
};

// A dense product, of which the left factor is read in either direction.
template <typename Value>
struct Dense {
  const Value* left;
  int64_t left_row;   // values from what makes a row of the result to the next
  int64_t left_term;  // values from a term to the next
  int64_t rows;       // of the result
  int64_t terms;
  FactorRows<Value> right;
  int64_t cols;
  MutableRows out;
  bool add;
};

// Copies the part of a tile that is there, [rows, cols].
inline void CopyPart(const ConstRows& from, int64_t rows, int64_t cols, const MutableRows& to) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to.data + r * to.stride, from.data + r * from.stride,
                static_cast<size_t>(cols) * sizeof(float));
  }
}

// `Tiles` has
//   Value                          what a term of a factor is
//   kLanes                         columns of a vector
//   kVectors                       of a row of the widest tile
//   Rows(vectors)                  of a tile of so many vectors a row, 8 at most
//   Multiply<vectors>(const Tile<Value>&)
// Columns from `column` on, N vectors of them, all rows, terms [begin, end).
template <typename Tiles, int N>
void MultiplyColumns(const Dense<typename Tiles::Value>& dense, int64_t column, int64_t begin,
                     int64_t end) {
  constexpr int kRows = Tiles::Rows(N);
  constexpr int kCols = N * Tiles::kLanes;
  const int64_t cols = std::min<int64_t>(kCols, dense.cols - column);
  const bool room = cols == kCols || dense.out.stride >= RoomForColumns(dense.cols);
  std::array<float, size_t{kRows} * kCols> aside;
  for (int64_t row = 0; row < dense.rows; row += kRows) {
    const int64_t rows = std::min<int64_t>(kRows, dense.rows - row);
    const MutableRows out = {dense.out.data + row * dense.out.stride + column, dense.out.stride};
    Tile<typename Tiles::Value> tile = {
        {},
        dense.left_term,
        {dense.right.data + begin * dense.right.stride + column, dense.right.stride},
        end - begin,
        out,
        dense.add || begin > 0};
    for (int64_t r = 0; r < kRows; ++r) {  // the last tile repeats the last row
      tile.left[r] =
          dense.left + std::min(row + r, dense.rows - 1) * dense.left_row + begin * dense.left_term;
    }
    if (rows == kRows && room) {
      Tiles::template Multiply<N>(tile);
      continue;
    }
    tile.out = {aside.data(), kCols};
    if (tile.add) {
      aside.fill(0);
      CopyPart({out.data, out.stride}, rows, cols, tile.out);
    }
    Tiles::template Multiply<N>(tile);
    CopyPart({aside.data(), kCols}, rows, cols, out);
  }
}

// Requires a row and a column of the result at least.
template <typename Tiles>
void MultiplyDense(const Dense<typename Tiles::Value>& dense) {
  constexpr int kVectors = Tiles::kVectors;
  const EvenParts slices = {(dense.cols + Tiles::kLanes - 1) / Tiles::kLanes, kVectors};
  for (int64_t begin = 0; begin == 0 || begin < dense.terms; begin += kTileTerms) {
    const int64_t end = std::min(dense.terms, begin + kTileTerms);
    for (int64_t slice = 0; slice < slices.parts(); ++slice) {
      const int64_t column = slices.begin(slice) * Tiles::kLanes;
      switch (slices.begin(slice + 1) - slices.begin(slice)) {
        case 1:
          MultiplyColumns<Tiles, 1>(dense, column, begin, end);
          break;
        case 2:
          MultiplyColumns<Tiles, 2>(dense, column, begin, end);
          break;
        case 3:
          MultiplyColumns<Tiles, std::min(3, kVectors)>(dense, column, begin, end);
          break;
        default:
          MultiplyColumns<Tiles, kVectors>(dense, column, begin, end);
      }
    }
  }
}

}  // namespace halograph

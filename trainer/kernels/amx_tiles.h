// How a product of pairs is cut into tiles of AMX: a tile has up to 16 rows of up to 64 bytes, that
// is 16 values of float32, or 16 pairs. What loads, multiplies and stores tiles is given as a type,
// so that the same code runs over the processor's unit (amx_product.cc) and over an emulated one,
// in tests.
//
// The terms of a value come in groups of kTileSide pairs, from the first on. The sums of a group
// are rounded before they are added to the value. So a product that is made by several calls gets
// the bits of one call, as long as each call but the last has whole groups.
//
// `Unit` has
//   Configure(const TileShapes&)   all tiles become zeros, of these shapes
//   Release()                      no tile is in use any more
//   Zero<tile>()
//   Load<tile>(first row, bytes from a row to the next)
//   Store<tile>(likewise)
//   MultiplyAdd<sums, left, right>()   TDPBF16PS: the left tile has pairs of a row of the result in
//                                      a row, the right one pairs of its columns side by side
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "trainer/kernels/bf16_product.h"

namespace halograph {

inline constexpr int64_t kTileSide = 16;
static_assert(kTileSide == kPairGroup, "a tile's pairs are summed as one group");

// As LDTILECFG reads it.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  std::array<uint8_t, 14> reserved = {};
  std::array<uint16_t, 16> row_bytes = {};
  std::array<uint8_t, 16> rows = {};

  void Set(int tile, int64_t tile_rows, int64_t tile_cols) {
    rows[tile] = static_cast<uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<uint16_t>(4 * tile_cols);
  }
};
static_assert(sizeof(TileShapes) == 64);

// Tiles 0 to 3 are of the result. 4 and 6 are of the left factor, 5 and 7 of the right: where pairs
// are left over beyond whole groups, 6 and 7 are for these, `rest` of them.
[[nodiscard]] inline TileShapes ShapesOf(int64_t rows, int64_t cols, int64_t rest) {
  TileShapes shapes;
  const int64_t last = rest > 0 ? rest : kTileSide;
  for (int tile = 0; tile < 4; ++tile) shapes.Set(tile, rows, cols);
  shapes.Set(4, rows, kTileSide);
  shapes.Set(5, kTileSide, cols);
  shapes.Set(6, rows, last);
  shapes.Set(7, last, cols);
  return shapes;
}

// A block of the result: a tile, or two (kWide: side by side, kTall: below each other), or four.
template <typename Unit, bool kTall, bool kWide>
class TileBlock {
 public:
  TileBlock(Unit& unit, const PairProduct& product, int64_t row, int64_t col)
      : unit_(unit),
        left_(product.left.data + row * product.left.stride),
        right_(product.right.data + col),
        out_(product.out.data + row * product.out.stride + col),
        pairs_(product.pairs),
        left_bytes_(4 * product.left.stride),
        right_bytes_(4 * product.right.stride),
        out_bytes_(4 * product.out.stride) {}

  void Multiply(bool add) {
    Begin(add);
    const int64_t whole = pairs_ / kTileSide * kTileSide;
    if (whole == pairs_) {
      for (int64_t k = 0; k < whole; k += kTileSide) AddGroup(k);
    } else {
      for (int64_t k = 0; k < whole; k += kTileSide) AddByTwo<4, 5>(k);
      AddByTwo<6, 7>(whole);
    }
    End();
  }

 private:
  void Begin(bool add) {
    if (add) {
      unit_.template Load<0>(out_, out_bytes_);
      if (kWide) unit_.template Load<1>(Beside(out_), out_bytes_);
      if (kTall) unit_.template Load<2>(Below(out_), out_bytes_);
      if (kTall && kWide) unit_.template Load<3>(Beside(Below(out_)), out_bytes_);
      return;
    }
    unit_.template Zero<0>();
    if (kWide) unit_.template Zero<1>();
    if (kTall) unit_.template Zero<2>();
    if (kTall && kWide) unit_.template Zero<3>();
  }

  // A whole group from pair k on, by two tiles of either factor.
  void AddGroup(int64_t k) {
    const uint32_t* const left = left_ + k;
    const uint32_t* const right = RightAt(k);
    unit_.template Load<5>(right, right_bytes_);
    unit_.template Load<4>(left, left_bytes_);
    unit_.template MultiplyAdd<0, 4, 5>();
    if (kTall) {
      unit_.template Load<6>(left + kTileSide * left_bytes_ / 4, left_bytes_);
      unit_.template MultiplyAdd<2, 6, 5>();
    }
    if (kWide) {
      unit_.template Load<7>(right + kTileSide, right_bytes_);
      unit_.template MultiplyAdd<1, 4, 7>();
      if (kTall) unit_.template MultiplyAdd<3, 6, 7>();
    }
  }

  // The same by one tile of either, which the processor renames when it is loaded anew.
  template <int kLeft, int kRight>
  void AddByTwo(int64_t k) {
    const uint32_t* const left = left_ + k;
    const uint32_t* const right = RightAt(k);
    unit_.template Load<kRight>(right, right_bytes_);
    unit_.template Load<kLeft>(left, left_bytes_);
    unit_.template MultiplyAdd<0, kLeft, kRight>();
    if (kWide) {
      unit_.template Load<kRight>(right + kTileSide, right_bytes_);
      unit_.template MultiplyAdd<1, kLeft, kRight>();
    }
    if (!kTall) return;
    unit_.template Load<kLeft>(left + kTileSide * left_bytes_ / 4, left_bytes_);
    if (kWide) {
      unit_.template MultiplyAdd<3, kLeft, kRight>();
      unit_.template Load<kRight>(right, right_bytes_);
    }
    unit_.template MultiplyAdd<2, kLeft, kRight>();
  }

  void End() {
    unit_.template Store<0>(out_, out_bytes_);
    if (kWide) unit_.template Store<1>(Beside(out_), out_bytes_);
    if (kTall) unit_.template Store<2>(Below(out_), out_bytes_);
    if (kTall && kWide) unit_.template Store<3>(Beside(Below(out_)), out_bytes_);
  }

  [[nodiscard]] const uint32_t* RightAt(int64_t k) const { return right_ + k * right_bytes_ / 4; }
  [[nodiscard]] float* Beside(float* out) const { return out + kTileSide; }
  [[nodiscard]] float* Below(float* out) const { return out + kTileSide * out_bytes_ / 4; }

  Unit& unit_;
  const uint32_t* const left_;
  const uint32_t* const right_;
  float* const out_;
  const int64_t pairs_, left_bytes_, right_bytes_, out_bytes_;
};

// Rows and columns of the result whose tiles have one shape.
struct TileRegion {
  int64_t first_row, last_row, first_col, last_col;
};

// Columns are outermost, so that their part of the right factor stays in the first cache.
template <typename Unit>
void MultiplyRegion(Unit& unit, const PairProduct& product, const TileRegion& region, bool add) {
  const int64_t rows = region.last_row - region.first_row;
  const int64_t cols = region.last_col - region.first_col;
  if (rows == 0 || cols == 0) return;
  unit.Configure(
      ShapesOf(std::min(rows, kTileSide), std::min(cols, kTileSide), product.pairs % kTileSide));
  for (int64_t col = region.first_col; col < region.last_col;) {
    const bool wide = col + 2 * kTileSide <= region.last_col;
    for (int64_t row = region.first_row; row < region.last_row;) {
      const bool tall = row + 2 * kTileSide <= region.last_row;
      if (tall && wide) {
        TileBlock<Unit, true, true>(unit, product, row, col).Multiply(add);
      } else if (tall) {
        TileBlock<Unit, true, false>(unit, product, row, col).Multiply(add);
      } else if (wide) {
        TileBlock<Unit, false, true>(unit, product, row, col).Multiply(add);
      } else {
        TileBlock<Unit, false, false>(unit, product, row, col).Multiply(add);
      }
      row += tall ? 2 * kTileSide : kTileSide;
    }
    col += wide ? 2 * kTileSide : kTileSide;
  }
}

// out = left * right, or += . `left`: [rows, pairs].
template <typename Unit>
void MultiplyByTiles(Unit& unit, const PairProduct& product, bool add) {
  const int64_t rows = product.rows / kTileSide * kTileSide;
  const int64_t cols = product.cols / kTileSide * kTileSide;
  // Shapes change as rarely as they can.
  MultiplyRegion(unit, product, {0, rows, 0, cols}, add);
  MultiplyRegion(unit, product, {rows, product.rows, 0, cols}, add);
  MultiplyRegion(unit, product, {0, rows, cols, product.cols}, add);
  MultiplyRegion(unit, product, {rows, product.rows, cols, product.cols}, add);
  unit.Release();
}

// out += the transpose of left * right. `left`: [pairs, rows]; it is turned a part at a time that
// stays in the second cache.
template <typename Unit>
void AddTransposedByTiles(Unit& unit, const PairProduct& product) {
  struct alignas(64) Line {
    std::array<uint32_t, kTileSide> pairs;
  };
  constexpr int64_t kPairs = 256, kRows = 128;
  constexpr int64_t kStride = kPairs + kTileSide;  // rows 1 KB apart meet in few sets of a cache
  static thread_local std::vector<Line> memory(kRows * kStride / kTileSide);
  uint32_t* const turned = memory.front().pairs.data();
  for (int64_t from = 0; from < product.pairs; from += kPairs) {
    const int64_t pairs = std::min(kPairs, product.pairs - from);
    for (int64_t row = 0; row < product.rows; row += kRows) {
      const int64_t rows = std::min(kRows, product.rows - row);
      const ConstPairs& left = product.left;
      TurnPairs({left.data + from * left.stride + row, left.stride}, pairs, rows,
                {turned, kStride});
      const ConstPairs right = {product.right.data + from * product.right.stride,
                                product.right.stride};
      const MutableRows out = {product.out.data + row * product.out.stride, product.out.stride};
      MultiplyByTiles(unit, {{turned, kStride}, rows, pairs, right, product.cols, out},
                      /*add=*/true);
    }
  }
}

}  // namespace halograph

// The rows that one pass of exact inference makes of all nodes, and the next one reads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/scratch.h"
#include "trainer/models/projected_layers.h"
#include "trainer/pipeline/batch_maker.h"

namespace halograph {

// A row of float32 for every node of a type. A row takes whole lines of a cache, or an even part of
// one, so that who reads one touches no more lines than it has.
class KeptTable {
 public:
  KeptTable() = default;  // of no columns

  //   else   as ScratchSpace::Take
  [[nodiscard]] static StatusOr<KeptTable> Make(int64_t rows, int64_t cols, ScratchSpace& scratch,
                                                std::string_view what);
  // What such a table takes.
  [[nodiscard]] static int64_t BytesOf(int64_t rows, int64_t cols);

  [[nodiscard]] int64_t cols() const { return cols_; }
  [[nodiscard]] const std::byte* Row(int64_t node) const;
  // `rows`: [any, cols()], float32, of nodes `first`, first + 1, ...
  void Put(int64_t first, const torch::Tensor& rows);
  // Row ids[i] to row i of `to`, rows without gaps.
  void Gather(std::span<const int64_t> ids, std::byte* to) const;

 private:
  int64_t cols_ = 0;
  int64_t stride_ = 0;  // values
  ScratchArray values_;
};

// Of all node types; empty where no layer reads them. `own` has columns where a layer reads other
// rows of its destinations than of its sources (LayerReads).
struct KeptRows {
  std::vector<KeptTable> shared;
  std::vector<KeptTable> own;

  // As BatchMaker::PullRows, with what is kept in the place of what stores have: what the recipe
  // says but for `input_rows`, which are float32 if kSelfAndMean.
  void Fill(const BatchRecipe& recipe, InputRows input_rows, Step* chunk) const;
};

}  // namespace halograph

// The two ways of the layer of grouped_layer.h, for its Function.
#pragma once

#include <algorithm>
#include <vector>

#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/dense_products.h"
#include "trainer/kernels/grouped_layer.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// What a Function keeps of RelationGroups (views), and what matrix each relation has.
struct GroupTensors {
  torch::Tensor relations, destinations;  // int64
  torch::Tensor matrix_of;                // int64
  BlockTensors edges;

  [[nodiscard]] int64_t num_relations() const { return relations.size(0) - 1; }
  [[nodiscard]] int64_t num_groups() const { return destinations.size(0); }
  [[nodiscard]] int64_t first(int64_t relation) const {
    return relations.data_ptr<int64_t>()[relation];
  }
  [[nodiscard]] const int64_t* destination() const { return destinations.data_ptr<int64_t>(); }
  [[nodiscard]] int64_t matrix(int64_t relation) const {
    return matrix_of.data_ptr<int64_t>()[relation];
  }
  // The first group of a relation whose destination is not below `v`.
  [[nodiscard]] int64_t FirstFrom(int64_t relation, int64_t v) const {
    return std::lower_bound(destination() + first(relation), destination() + first(relation + 1),
                            v) -
           destination();
  }
};

// The blocks of matrices: how many, and the columns of one.
struct Diagonal {
  explicit Diagonal(const torch::Tensor& matrices)
      : blocks(matrices.size(1)), out(matrices.size(2)), in(matrices.size(3)) {}
  int64_t blocks, out, in;
};

// Rows of the columns of all blocks, of float32. A product of one block may write over what is
// behind its columns, but not over the next row.
inline torch::Tensor RowsOfBlocks(int64_t rows, int64_t blocks, int64_t cols) {
  const int64_t room = (blocks - 1) * cols + RoomForColumns(cols);
  return torch::empty({rows, PaddedStride(room)}, torch::kFloat32).narrow(1, 0, blocks * cols);
}

// The same of bfloat16, for a product to read. Each block has whole pairs: behind an odd number of
// columns there is a zero.
inline torch::Tensor PairsOfBlocks(int64_t rows, int64_t blocks, int64_t cols) {
  torch::Tensor pairs = RowsWithRoom(rows, blocks * EvenCols(cols), Precision::kBf16);
  for (int64_t b = 0; b < blocks && cols % 2 != 0; ++b) {
    pairs.narrow(1, b * EvenCols(cols) + cols, 1).zero_();
  }
  return pairs;
}

// make(columns of block b of `means`, of either kind, the block's matrix) for each relation with
// groups and each block, in parallel; blocks of a relation side by side. Others are left empty.
template <typename Product, typename Make>
std::vector<Product> ProductsOfRelations(const GroupTensors& groups, const torch::Tensor& means,
                                         const torch::Tensor& matrices, const Make& make) {
  const Diagonal diagonal(matrices);
  const int64_t step = means.size(1) / diagonal.blocks;
  const torch::Tensor values = matrices.detach();
  std::vector<Product> products(static_cast<size_t>(groups.num_relations() * diagonal.blocks));
  at::parallel_for(0, groups.num_relations(), 1, [&](int64_t begin, int64_t end) {
    const torch::NoGradGuard no_grad;
    for (int64_t r = begin; r < end; ++r) {
      if (groups.first(r) == groups.first(r + 1)) continue;
      for (int64_t b = 0; b < diagonal.blocks; ++b) {
        products[static_cast<size_t>(r * diagonal.blocks + b)] =
            make(means.narrow(1, b * step, diagonal.in), values[groups.matrix(r)][b].contiguous());
      }
    }
  });
  return products;
}

struct GroupedRows {
  torch::Tensor out;  // [nodes, out], contiguous
  torch::Tensor
      mask;  // as FinishInPlace's (finish_rows.h); no tensor without ReLU or if not wanted
  torch::Tensor means;  // of the groups, as they were multiplied: RowsOfBlocks or PairsOfBlocks
  torch::Tensor own;    // the nodes' own rows, as they were multiplied, of the same type
};

// Arguments as GroupedLayer's.
[[nodiscard]] GroupedRows GroupedForward(const torch::Tensor& h, const GroupTensors& groups,
                                         const GroupedWeights& weights, const LayerNodes& nodes,
                                         const LayerOutput& output, Precision precision,
                                         bool mask_wanted);

struct GroupedGradients {
  torch::Tensor matrices;  // no tensor without groups
  torch::Tensor self, bias;
  torch::Tensor means, own;  // rows may be further apart than they are long; none if not wanted
};

// Out of the gradient of `out`. `rows`: what GroupedForward gave, but for `out`. `scale`: the
// dropout's.
[[nodiscard]] GroupedGradients GroupedBackward(const torch::Tensor& grad, const GroupedRows& rows,
                                               float scale, const GroupTensors& groups,
                                               const torch::Tensor& matrices,
                                               const torch::Tensor& self, bool inputs_wanted);

}  // namespace halograph

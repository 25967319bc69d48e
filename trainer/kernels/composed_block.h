// A block as tensors that libtorch's own operations take: what compositions are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/kernels/dropout.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// int64, on one device.
struct ComposedBlock {
  torch::Tensor sources;       // [edges]
  torch::Tensor destinations;  // [edges], ascending
  torch::Tensor degrees;       // [destinations]
};

// Copies; `indptr` and `indices` as a block has them.
inline ComposedBlock ComposedBlockOf(const std::vector<int64_t>& indptr,
                                     const std::vector<int32_t>& indices,
                                     const torch::Device& device) {
  const torch::Tensor bounds = torch::tensor(indptr, torch::kInt64);
  const torch::Tensor degrees = bounds.slice(0, 1) - bounds.slice(0, 0, bounds.size(0) - 1);
  const torch::Tensor rows = torch::arange(degrees.size(0), torch::kInt64);
  return {torch::tensor(indices, torch::kInt32).to(device, torch::kInt64),
          torch::repeat_interleave(rows, degrees).to(device), degrees.to(device)};
}

// Row i: the sum of the rows of `values` whose entry in `rows` is i. [count, ...].
inline torch::Tensor SumByRow(const torch::Tensor& values, const torch::Tensor& rows,
                              int64_t count) {
  std::vector<int64_t> sizes = values.sizes().vec();
  sizes[0] = count;
  return torch::zeros(sizes, values.options()).index_add(0, rows, values);
}

// Whether `dropout` keeps the value at (row, column): bool, [rows, cols], on the CPU.
inline torch::Tensor KeptPlaces(const Dropout& dropout, int64_t rows, int64_t cols) {
  torch::Tensor kept = torch::empty({rows, cols}, torch::kBool);
  bool* out = kept.data_ptr<bool>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < cols; ++column) *out++ = dropout.Keeps(row, column);
  }
  return kept;
}

}  // namespace halograph

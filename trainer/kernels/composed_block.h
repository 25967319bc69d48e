// A block as tensors that libtorch's own operations take: what compositions are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "common/sampling/minibatch.h"
#include "trainer/kernels/dropout.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// int64, on one device.
struct ComposedBlock {
  torch::Tensor sources;       // [edges]
  torch::Tensor destinations;  // [edges], ascending
  torch::Tensor degrees;       // [destinations]: edges in the block
  // float32, or none: Block's.
  torch::Tensor coefficients = {};
  torch::Tensor given_degrees = {};
};

// Copies; `indptr` and `indices` as a block has them.
inline ComposedBlock ComposedBlockOf(const std::vector<int64_t>& indptr,
                                     const std::vector<int32_t>& indices,
                                     const torch::Device& device,
                                     const std::vector<float>& coefficients = {},
                                     const std::vector<float>& given_degrees = {}) {
  const torch::Tensor bounds = torch::tensor(indptr, torch::kInt64);
  const torch::Tensor degrees = bounds.slice(0, 1) - bounds.slice(0, 0, bounds.size(0) - 1);
  const torch::Tensor rows = torch::arange(degrees.size(0), torch::kInt64);
  const auto any = [&device](const std::vector<float>& values) {
    return values.empty() ? torch::Tensor() : torch::tensor(values).to(device);
  };
  return {torch::tensor(indices, torch::kInt32).to(device, torch::kInt64),
          torch::repeat_interleave(rows, degrees).to(device), degrees.to(device), any(coefficients),
          any(given_degrees)};
}
inline ComposedBlock ComposedBlockOf(const Block& block, const torch::Device& device) {
  return ComposedBlockOf(block.indptr, block.indices, device, block.coefficients, block.degrees);
}

// Row i: the sum of the rows of `values` whose entry in `rows` is i. [count, ...].
inline torch::Tensor SumByRow(const torch::Tensor& values, const torch::Tensor& rows,
                              int64_t count) {
  std::vector<int64_t> sizes = values.sizes().vec();
  sizes[0] = count;
  return torch::zeros(sizes, values.options()).index_add(0, rows, values);
}

// Row i: the sum of the rows of h of the sources of destination i, each times its coefficient.
inline torch::Tensor SumOfSourcesBy(const ComposedBlock& edges, const torch::Tensor& h) {
  torch::Tensor rows = h.index_select(0, edges.sources);
  if (edges.coefficients.defined()) rows = rows * edges.coefficients.to(h.dtype()).unsqueeze(1);
  return SumByRow(rows, edges.destinations, edges.degrees.size(0));
}

// The same, divided by the degrees that are given, or else by the numbers of edges.
inline torch::Tensor MeanOfSourcesBy(const ComposedBlock& edges, const torch::Tensor& h) {
  const torch::Tensor sums = SumOfSourcesBy(edges, h);
  if (!edges.given_degrees.defined()) return sums / edges.degrees.clamp_min(1).unsqueeze(1);
  const torch::Tensor degrees = edges.given_degrees.narrow(0, 0, sums.size(0)).to(h.dtype());
  return sums * torch::where(degrees > 0, 1 / degrees, torch::zeros({}, h.options())).unsqueeze(1);
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

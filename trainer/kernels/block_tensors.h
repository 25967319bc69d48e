// Between libtorch's tensors and what the kernels take.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/sampling/minibatch.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/blocks/gather_rows.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Rows that one thread takes at a time: few enough to even out degrees.
inline constexpr int64_t kRowGrain = 64;

// Views of a block's arrays, so that a Function can keep them. The block must outlive them.
struct BlockTensors {
  torch::Tensor indptr;                           // int64
  torch::Tensor indices;                          // int32
  const TransposedBlock* by_source = nullptr;     // null: backward makes its own
  torch::Tensor coefficients = {}, degrees = {};  // float32; none where the block has none

  [[nodiscard]] int64_t num_destinations() const { return indptr.size(0) - 1; }
};

template <typename T>
torch::Tensor ViewOf(const std::vector<T>& values, torch::ScalarType type) {
  return torch::from_blob(const_cast<T*>(values.data()), {static_cast<int64_t>(values.size())},
                          type);
}

// No tensor where there are no values.
inline torch::Tensor ViewOfAny(const std::vector<float>& values) {
  return values.empty() ? torch::Tensor() : ViewOf(values, torch::kFloat32);
}

// Throws c10::Error unless a block has a coefficient for each edge, or none, and degrees of all
// destinations, or none: what lies beyond them would be read.
inline void CheckFactors(size_t edges, size_t destinations, const std::vector<float>& coefficients,
                         const std::vector<float>& degrees) {
  TORCH_CHECK(coefficients.empty() || coefficients.size() == edges, "a block of ", edges,
              " edges has coefficients of ", coefficients.size());
  TORCH_CHECK(degrees.empty() || degrees.size() >= destinations, "a block of ", destinations,
              " destinations has degrees of ", degrees.size());
}

inline BlockTensors TensorsOf(const Block& block, const TransposedBlock* by_source = nullptr) {
  CheckFactors(block.indices.size(), block.indptr.size() - 1, block.coefficients, block.degrees);
  return {ViewOf(block.indptr, torch::kInt64), ViewOf(block.indices, torch::kInt32), by_source,
          ViewOfAny(block.coefficients), ViewOfAny(block.degrees)};
}

// Of a block that nobody else has: it lives as long as the tensors.
inline BlockTensors OwnTensorsOf(Block block) {
  CheckFactors(block.indices.size(), block.indptr.size() - 1, block.coefficients, block.degrees);
  const auto kept = std::make_shared<const Block>(std::move(block));
  const auto view = [&kept](const auto& values, torch::ScalarType type) -> torch::Tensor {
    if (values.empty() && type == torch::kFloat32) return {};
    using T = typename std::decay_t<decltype(values)>::value_type;
    return torch::from_blob(
        const_cast<T*>(values.data()), {static_cast<int64_t>(values.size())}, [kept](void*) {},
        type);
  };
  return {view(kept->indptr, torch::kInt64), view(kept->indices, torch::kInt32), nullptr,
          view(kept->coefficients, torch::kFloat32), view(kept->degrees, torch::kFloat32)};
}

// How a Function's backward gets a block whose `indptr` and `indices` it saves: the rest of it.
inline void KeepRestOf(torch::autograd::AutogradContext* context, const BlockTensors& block) {
  context->saved_data["by_source"] = reinterpret_cast<int64_t>(block.by_source);
  if (block.coefficients.defined()) context->saved_data["coefficients"] = block.coefficients;
  if (block.degrees.defined()) context->saved_data["degrees"] = block.degrees;
}
inline BlockTensors KeptBlock(torch::autograd::AutogradContext* context,
                              const torch::Tensor& indptr, const torch::Tensor& indices) {
  auto& saved = context->saved_data;
  const auto tensor = [&saved](const char* name) {
    const auto found = saved.find(name);
    return found == saved.end() ? torch::Tensor() : found->second.toTensor();
  };
  return {indptr, indices, reinterpret_cast<const TransposedBlock*>(saved["by_source"].toInt()),
          tensor("coefficients"), tensor("degrees")};
}

// The values of a tensor of float32; null for no tensor.
inline const float* ValuesOf(const torch::Tensor& values) {
  return values.defined() ? values.data_ptr<float>() : nullptr;
}

// Throws c10::Error if a block by source cannot be that of `block`, by its sizes: what lies beyond
// them would be read.
inline void CheckBySource(const TransposedBlock& by_source, const BlockTensors& block,
                          int64_t num_sources) {
  const auto size = [](const auto& values) { return static_cast<int64_t>(values.size()); };
  const int64_t rows = block.num_destinations();
  const int64_t edges = block.indptr.data_ptr<int64_t>()[rows];
  TORCH_CHECK(size(by_source.indptr) == num_sources + 1 && by_source.indptr.back() == edges &&
                  size(by_source.destinations) == edges && size(by_source.edges) == edges &&
                  size(by_source.reciprocals) == rows,
              "the block by source has ", size(by_source.indptr) - 1, " sources, ",
              size(by_source.reciprocals), " destinations and ", size(by_source.edges),
              " edges, and its block ", num_sources, ", ", rows, " and ", edges);
  TORCH_CHECK(size(by_source.coefficients) == (block.coefficients.defined() ? edges : 0),
              "the block by source has ", size(by_source.coefficients), " coefficients, its block ",
              block.coefficients.defined() ? edges : 0);
}

// The block by source: the one that was given, whose sizes are checked, or else one made now, into
// `own`.
[[nodiscard]] inline const TransposedBlock& GivenOrMade(const BlockTensors& block,
                                                        int64_t num_sources, TransposedBlock* own) {
  if (block.by_source != nullptr) {
    CheckBySource(*block.by_source, block, num_sources);
    return *block.by_source;
  }
  *own = Transpose(block.indptr.data_ptr<int64_t>(), block.num_destinations(),
                   block.indices.data_ptr<int32_t>(), num_sources,
                   {ValuesOf(block.coefficients), ValuesOf(block.degrees)});
  return *own;
}

// parts[0] + parts[1] + ..., in this order.
inline torch::Tensor SumInOrder(const torch::Tensor& parts) {
  torch::Tensor total = parts[0].clone();
  for (int64_t part = 1; part < parts.size(0); ++part) total += parts[part];
  return total;
}

// Throws c10::Error unless `h` is a float32 matrix on the CPU, row after row.
inline void CheckLayerInput(const torch::Tensor& h, const char* who) {
  TORCH_CHECK(h.dim() == 2 && h.is_contiguous() && h.scalar_type() == torch::kFloat32 &&
                  h.device().is_cpu(),
              who, " needs a contiguous float32 matrix on the CPU");
}

// A matrix whose rows may be further apart than they are long.
inline ConstRows ConstRowsOf(const torch::Tensor& matrix) {
  return {matrix.data_ptr<float>(), matrix.stride(0)};
}
inline MutableRows MutableRowsOf(const torch::Tensor& matrix) {
  return {matrix.data_ptr<float>(), matrix.stride(0)};
}

inline MutableRows RowsFrom(const MutableRows& rows, int64_t row) {
  return {rows.data + row * rows.stride, rows.stride};
}

// The words of a mask, or null for no tensor.
inline uint64_t* WordsOf(const torch::Tensor& mask) {
  return mask.defined() ? reinterpret_cast<uint64_t*>(mask.data_ptr<int64_t>()) : nullptr;
}

// Rows of sources, picked by destination; rows of destinations, picked by source.
template <typename Rows>
Picked<Rows> PickBy(const BlockTensors& block, const Rows& rows, int64_t cols) {
  return {block.indptr.data_ptr<int64_t>(),
          block.indices.data_ptr<int32_t>(),
          rows,
          cols,
          ValuesOf(block.coefficients),
          ValuesOf(block.degrees)};
}
inline PickedRows PickBy(const BlockTensors& block, const torch::Tensor& rows) {
  return PickBy(block, ConstRowsOf(rows), rows.size(1));
}
inline PickedRows PickBy(const TransposedBlock& block, const torch::Tensor& rows) {
  return {block.indptr.data(), block.destinations.data(), ConstRowsOf(rows), rows.size(1),
          DataOrNull(block.coefficients)};
}

}  // namespace halograph

// Between libtorch's tensors and what the kernels take.
#pragma once

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
  torch::Tensor indptr;                        // int64
  torch::Tensor indices;                       // int32
  const TransposedBlock* by_source = nullptr;  // null: backward makes its own
};

template <typename T>
torch::Tensor ViewOf(const std::vector<T>& values, torch::ScalarType type) {
  return torch::from_blob(const_cast<T*>(values.data()), {static_cast<int64_t>(values.size())},
                          type);
}

inline BlockTensors TensorsOf(const Block& block) {
  return {ViewOf(block.indptr, torch::kInt64), ViewOf(block.indices, torch::kInt32)};
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

}  // namespace halograph

// A block in the memory of the device that computes, and how kernels are given a block wherever it
// is.
#pragma once

#include "common/sampling/minibatch.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Tensors of int32 on one device, the values of a Block and of its TransposedBlock; of float32
// where it has coefficients and degrees, else none of these.
struct BlockOnDevice {
  torch::Tensor indptr;        // [destinations + 1]
  torch::Tensor indices;       // [edges]: the source of each
  torch::Tensor destinations;  // [edges]
  // By source. No tensors where nobody goes back to the sources.
  torch::Tensor by_source_indptr;        // [sources + 1]
  torch::Tensor by_source_edges;         // [edges]: which of the block's each is, ascending
  torch::Tensor by_source_destinations;  // [edges]
  torch::Tensor coefficients = {};       // [edges]
  torch::Tensor degrees = {};            // [destinations], or [sources]

  [[nodiscard]] int64_t num_destinations() const { return indptr.size(0) - 1; }
  [[nodiscard]] int64_t num_edges() const { return indices.size(0); }
};

// A block for a kernel. On the CPU it reads `block`, and `by_source` on the way back, or makes its
// own where that is null. Where there is `on_device`, rows are on that device, and it reads this
// alone. All must live until backward is done.
struct BlockRef {
  const Block* block = nullptr;
  const TransposedBlock* by_source = nullptr;
  const BlockOnDevice* on_device = nullptr;
};

}  // namespace halograph

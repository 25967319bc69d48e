// The blocks of a minibatch in the memory of a device, in the form that the model asks for: packed
// into one array on the host, copied at once, and taken apart there into views.
#pragma once

#include <vector>

#include "common/sampling/minibatch.h"
#include "trainer/kernels/block_on_device.h"
#include "trainer/pipeline/layer_blocks.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

struct LayerOnDevice {
  std::vector<BlockOnDevice> blocks;  // one a block of the layer
};

// Where the blocks of a minibatch stand in one array of int32.
class BlockLayout {
 public:
  // Of blocks as they are, or with self loops where `made` has these; by source where it has that.
  // Both must live as long as this object. Forms by relation have no layout.
  BlockLayout(const Minibatch& minibatch, const LayerBlocks& made);

  [[nodiscard]] int64_t size() const { return size_; }  // values
  // Requires room for size() values.
  void Write(int32_t* to) const;
  // Views of `values`, which has what Write wrote, on any device; one a layer of the minibatch.
  [[nodiscard]] std::vector<LayerOnDevice> Views(const torch::Tensor& values) const;

 private:
  struct Place {
    const Block* block;
    const TransposedBlock* by_source;  // or null
  };
  std::vector<std::vector<Place>> layers_;
  int64_t size_ = 0;
};

}  // namespace halograph

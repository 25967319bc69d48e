// Rows of all node types made equally wide, so that a layer can take them all. They stay as they
// are where all types have rows of one width. Else the width is `hidden`, and a type whose rows
// have another one gets a linear map of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "common/sampling/minibatch.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Rows of all node types below each other, types in the order of the schema.
struct StackedRows {
  torch::Tensor rows;          // float32, contiguous
  std::vector<int64_t> first;  // node types + 1: where those of a type begin

  // The first `count` rows of a type.
  [[nodiscard]] torch::Tensor Of(size_t type, int64_t count) const {
    return rows.narrow(0, first[type], count);
  }
  // `parts`: per node type; not defined for types without rows. Not all are so.
  [[nodiscard]] static StackedRows Of(const std::vector<torch::Tensor>& parts);
};

class InputProjectionImpl : public torch::nn::Module {
 public:
  // `dims`: columns of each node type's rows, at least 1. Throws c10::Error naming a type's index
  // if it has none.
  InputProjectionImpl(std::vector<int64_t> dims, int64_t hidden);

  [[nodiscard]] int64_t width() const { return width_; }
  // `nodes`: per node type, [rows, its columns], float32 or bfloat16.
  [[nodiscard]] StackedRows forward(const std::vector<torch::Tensor>& nodes);

 private:
  const std::vector<int64_t> dims_;
  const int64_t width_;
  std::vector<torch::nn::Linear> maps_;  // per node type; null: rows stay as they are
};
TORCH_MODULE(InputProjection);

}  // namespace halograph

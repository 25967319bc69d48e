// Tensors that change, and copies of them as they were at one moment: the weights of the best
// evaluation, or the buffers before a step. Not thread-safe.
#pragma once

#include <utility>
#include <vector>

#include "trainer/torch/torch_api.h"

namespace halograph {

// Both lists, one after the other.
[[nodiscard]] std::vector<torch::Tensor> Joined(std::vector<torch::Tensor> first,
                                                const std::vector<torch::Tensor>& second);

class KeptTensors {
 public:
  // `kept`: what kept() was, for whoever goes on.
  explicit KeptTensors(std::vector<torch::Tensor> tensors, std::vector<torch::Tensor> kept = {})
      : tensors_(std::move(tensors)), kept_(std::move(kept)) {}

  // Copies them as they are now, in place of what was kept.
  void Keep();
  // Nothing is kept any more.
  void Forget() { kept_.clear(); }
  // Gives them the values that were kept; without any they stay as they are.
  void PutBack();

  // In the order of the constructor's; empty if nothing was kept.
  [[nodiscard]] const std::vector<torch::Tensor>& kept() const { return kept_; }

 private:
  std::vector<torch::Tensor> tensors_;
  std::vector<torch::Tensor> kept_;
};

}  // namespace halograph

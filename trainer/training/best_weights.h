// The weights of the best evaluation so far, beside those that are being trained. Not thread-safe.
#pragma once

#include <utility>
#include <vector>

#include "trainer/torch/torch_api.h"

namespace halograph {

class BestWeights {
 public:
  // Of these tensors: what a model learns, and what it keeps beside. `kept`: what kept() was, for
  // whoever goes on.
  explicit BestWeights(std::vector<torch::Tensor> trained, std::vector<torch::Tensor> kept = {})
      : trained_(std::move(trained)), kept_(std::move(kept)) {}

  // Copies them as they are now, in place of what was kept.
  void Keep();
  // Gives them the values that were kept; without any they stay as they are.
  void PutBack();

  // In the order of the constructor's; empty if nothing was kept.
  [[nodiscard]] const std::vector<torch::Tensor>& kept() const { return kept_; }

 private:
  std::vector<torch::Tensor> trained_;
  std::vector<torch::Tensor> kept_;
};

}  // namespace halograph

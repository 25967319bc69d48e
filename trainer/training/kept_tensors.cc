#include "trainer/training/kept_tensors.h"

namespace halograph {

std::vector<torch::Tensor> Joined(std::vector<torch::Tensor> first,
                                  const std::vector<torch::Tensor>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void KeptTensors::Keep() {
  const torch::NoGradGuard no_grad;
  kept_.clear();
  for (const torch::Tensor& tensor : tensors_) kept_.push_back(tensor.detach().clone());
}

void KeptTensors::PutBack() {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < kept_.size(); ++i) tensors_[i].copy_(kept_[i]);
}

}  // namespace halograph

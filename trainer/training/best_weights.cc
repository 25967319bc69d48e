#include "trainer/training/best_weights.h"

namespace halograph {

void BestWeights::Keep() {
  const torch::NoGradGuard no_grad;
  kept_.clear();
  for (const torch::Tensor& tensor : trained_) kept_.push_back(tensor.detach().clone());
}

void BestWeights::PutBack() {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < kept_.size(); ++i) trained_[i].copy_(kept_[i]);
}

}  // namespace halograph

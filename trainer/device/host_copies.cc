#include "trainer/device/host_copies.h"

namespace halograph {

HostCopies::HostCopies(const Device& device, const std::vector<torch::Tensor>& tensors)
    : compute_(device.Compute()) {
  const torch::NoGradGuard no_grad;
  const Queue::Scope scope(compute_);
  for (const torch::Tensor& tensor : tensors) {
    host_.push_back(tensor.defined() ? device.BeginHome(tensor.detach()) : tensor);
  }
  copied_ = compute_.Record();
}

const std::vector<torch::Tensor>& HostCopies::Wait() const {
  compute_.Finish(copied_);
  return host_;
}

}  // namespace halograph

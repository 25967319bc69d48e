#include "trainer/distributed/gradients.h"

namespace halograph {

GradientBuffer::GradientBuffer(const std::vector<torch::Tensor>& parameters) {
  int64_t count = 0;
  for (const torch::Tensor& parameter : parameters) count += parameter.numel();
  flat_ = torch::zeros({count});
  int64_t offset = 0;
  for (const torch::Tensor& parameter : parameters) {
    torch::Tensor view = flat_.narrow(0, offset, parameter.numel()).view(parameter.sizes());
    parameter.mutable_grad() = view;
    offset += parameter.numel();
  }
}

void GradientBuffer::Zero() { flat_.zero_(); }

Status GradientBuffer::AllReduce(Communicator& communicator) {
  return communicator.AllReduceSum(flat_, "all-reduce of gradients");
}

Status BroadcastParameters(const std::vector<torch::Tensor>& parameters,
                           Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  for (const torch::Tensor& parameter : parameters) {
    HG_RETURN_IF_ERROR(
        communicator.Broadcast(parameter.detach(), "broadcast of the initial weights"));
  }
  return OkStatus();
}

}  // namespace halograph

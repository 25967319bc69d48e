#include "trainer/distributed/gradients.h"

#include <iterator>

namespace halograph {
namespace {

constexpr bool StepAsks::*kAsks[] = {&StepAsks::stop, &StepAsks::checkpoint, &StepAsks::time_up};

}  // namespace

GradientBuffer::GradientBuffer(const std::vector<torch::Tensor>& parameters) {
  int64_t count = 0;
  for (const torch::Tensor& parameter : parameters) count += parameter.numel();
  sent_ = torch::zeros({count + std::ssize(kAsks)});
  flat_ = sent_.narrow(0, 0, count);
  int64_t offset = 0;
  for (const torch::Tensor& parameter : parameters) {
    torch::Tensor view = flat_.narrow(0, offset, parameter.numel()).view(parameter.sizes());
    parameter.mutable_grad() = view;
    offset += parameter.numel();
  }
}

void GradientBuffer::Zero() { flat_.zero_(); }

Status GradientBuffer::AllReduce(Communicator& communicator, StepAsks* asks) {
  const StepAsks own = asks == nullptr ? StepAsks() : *asks;
  float* const sent = sent_.data_ptr<float>() + flat_.numel();
  for (size_t i = 0; i < std::size(kAsks); ++i) sent[i] = own.*kAsks[i] ? 1 : 0;
  HG_RETURN_IF_ERROR(communicator.AllReduceSum(sent_, "all-reduce of gradients"));
  if (asks == nullptr) return OkStatus();
  for (size_t i = 0; i < std::size(kAsks); ++i) asks->*kAsks[i] = sent[i] > 0;
  return OkStatus();
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

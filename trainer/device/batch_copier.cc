#include "trainer/device/batch_copier.h"

#include <utility>

#include "common/base/log.h"

namespace halograph {

DeviceBatch::DeviceBatch(const BatchCopier& copier, std::vector<torch::Tensor> host,
                         const BatchCopier::Then& then)
    : copier_(copier), host_(std::move(host)) {
  const Queue::Scope scope(copier_.copying_);
  for (const torch::Tensor& tensor : host_) {
    tensors_.push_back(tensor.defined() ? copier_.device_.Copy(tensor) : torch::Tensor());
  }
  if (then) then(&tensors_);
  copied_ = copier_.copying_.Record();
}

DeviceBatch::~DeviceBatch() {
  try {
    copier_.copying_.Finish(copied_);
    // The tensors' memory is the copying queue's, which may fill it again once they are gone.
    copier_.copying_.Await(copier_.compute_.Record());
  } catch (const std::exception& error) {
    // The device has failed: the step says so too.
    spdlog::debug("a batch on {} ends: {}", copier_.device_.name(), TorchMessage(error));
  }
}

void DeviceBatch::Use() const { copier_.compute_.Await(copied_); }

std::unique_ptr<DeviceBatch> BatchCopier::Copy(std::vector<torch::Tensor> host,
                                               const Then& then) const {
  const torch::NoGradGuard no_grad;
  return std::unique_ptr<DeviceBatch>(new DeviceBatch(*this, std::move(host), then));
}

}  // namespace halograph

#include "trainer/training/late_tensors.h"

#include <utility>

namespace halograph {

void LateTensors::Begin(std::shared_ptr<const Step> step,
                        const std::vector<torch::Tensor>& tensors) {
  coming_.push_back({std::move(step), HostCopies(device_, tensors)});
}

Status LateTensors::TakeAllBut(int64_t late) {
  while (!coming_.empty() && (std::ssize(coming_) > late || coming_.front().tensors.There())) {
    const Coming come = std::move(coming_.front());
    coming_.pop_front();
    HG_RETURN_IF_ERROR(take_(*come.step, come.tensors.Wait()));
  }
  return OkStatus();
}

}  // namespace halograph

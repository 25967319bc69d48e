// What steps make on the device, on its way to the host: it is taken when it has come, so that
// nobody waits for it. On the CPU it has come at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "trainer/device/host_copies.h"
#include "trainer/pipeline/step.h"

namespace halograph {

// Not thread-safe. Throws as libtorch does.
class LateTensors {
 public:
  // `tensors`: those of Begin, in the host's memory.
  using Take = std::function<Status(const Step& step, const std::vector<torch::Tensor>& tensors)>;
  LateTensors(Device device, Take take) : device_(std::move(device)), take_(std::move(take)) {}

  // `step` is kept until its tensors are taken; what it has on the device need not be. Undefined
  // tensors stay so.
  void Begin(std::shared_ptr<const Step> step, const std::vector<torch::Tensor>& tensors);
  // Takes, in the order of the steps, what has come, and waits for all but the last `late` steps.
  // The first error of a Take ends it; what came behind is taken by the next call.
  [[nodiscard]] Status TakeAllBut(int64_t late);

 private:
  struct Coming {
    std::shared_ptr<const Step> step;
    HostCopies tensors;
  };
  const Device device_;
  const Take take_;
  std::deque<Coming> coming_;
};

}  // namespace halograph

// Losses of steps, and what their metrics are made of, on their way from the device: they are taken
// when they have come, so that nobody waits for them. On the CPU they have come at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "trainer/device/host_copies.h"
#include "trainer/tasks/task.h"
#include "trainer/training/session.h"

namespace halograph {

// Not thread-safe. Throws as libtorch does.
class LateFigures {
 public:
  // `scores`: BatchLoss's, in the host's memory.
  using Take =
      std::function<void(const Step& step, double loss, const std::vector<torch::Tensor>& scores)>;
  // The session outlives it.
  LateFigures(const Session& session, Take take) : session_(session), take_(std::move(take)) {}

  // `step` is kept until its figures are taken; what it has on the device need not be.
  void Begin(std::shared_ptr<const Step> step, const BatchLoss& loss);
  // Takes, in the order of the steps, what has come, and waits for all but the last `late` steps.
  //   FailedPrecondition  a loss is not finite: rank, epoch and step are named
  [[nodiscard]] Status TakeAllBut(int64_t late);

 private:
  struct Coming {
    std::shared_ptr<const Step> step;
    HostCopies figures;  // the loss, then scores
  };
  const Session& session_;
  const Take take_;
  std::deque<Coming> coming_;
};

}  // namespace halograph

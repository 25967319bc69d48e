// Losses of steps, and what their metrics are made of, as they come from the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "trainer/tasks/task.h"
#include "trainer/training/late_tensors.h"
#include "trainer/training/session.h"

namespace halograph {

// Not thread-safe. Throws as libtorch does.
class LateFigures {
 public:
  // `scores`: BatchLoss's, in the host's memory.
  using Take =
      std::function<void(const Step& step, double loss, const std::vector<torch::Tensor>& scores)>;
  // The session outlives it.
  LateFigures(const Session& session, Take take);
  LateFigures(const LateFigures&) = delete;
  LateFigures& operator=(const LateFigures&) = delete;

  // As LateTensors.
  void Begin(std::shared_ptr<const Step> step, const BatchLoss& loss);
  // As LateTensors::TakeAllBut.
  //   FailedPrecondition  a loss is not finite: rank, epoch and step are named
  [[nodiscard]] Status TakeAllBut(int64_t late) { return late_.TakeAllBut(late); }

 private:
  // The loss, then scores.
  [[nodiscard]] Status TakeOne(const Step& step, std::vector<torch::Tensor> figures) const;

  const Session& session_;
  const Take take_;
  LateTensors late_;
};

}  // namespace halograph

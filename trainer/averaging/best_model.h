// The best epoch so far by the validation metric, and its weights. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/torch/torch_api.h"
#include "trainer/training/training_loop.h"

namespace halograph {

class BestModel {
 public:
  // `values`: parameters and buffers of the model, which Restore changes. `metric`: of the task.
  // `epochs`: asked for.
  BestModel(std::vector<torch::Tensor> values, const Metric& metric, int64_t epochs);

  // An epoch that was evaluated, with the model as it is. The first of the best validation metric
  // counts; without such a metric the last.
  void Consider(const EpochStats& stats);
  // Sets the model to the best epoch's weights, if there was one.
  void Restore();

  [[nodiscard]] const std::optional<EpochStats>& best() const { return best_; }
  // The best validation metric of the first three quarters of the epochs.
  [[nodiscard]] const std::optional<double>& earlier() const { return earlier_; }

 private:
  [[nodiscard]] bool IsBetter(const EpochStats& stats) const;

  const std::vector<torch::Tensor> values_;
  const bool higher_is_better_;
  const int64_t epochs_;
  std::optional<EpochStats> best_;
  std::optional<double> earlier_;
  std::vector<torch::Tensor> weights_;
};

}  // namespace halograph

#include "trainer/averaging/best_model.h"

#include <cmath>
#include <utility>

namespace halograph {
namespace {

bool Known(const std::optional<SetFigures>& figures) {
  return figures.has_value() && !std::isnan(figures->metric);
}

}  // namespace

BestModel::BestModel(std::vector<torch::Tensor> values, const Metric& metric, int64_t epochs)
    : values_(std::move(values)), higher_is_better_(metric.higher_is_better), epochs_(epochs) {}

bool BestModel::IsBetter(const EpochStats& stats) const {
  if (!best_.has_value() || !Known(best_->valid)) return true;
  if (!Known(stats.valid)) return false;
  return higher_is_better_ ? stats.valid->metric > best_->valid->metric
                           : stats.valid->metric < best_->valid->metric;
}

void BestModel::Consider(const EpochStats& stats) {
  if (!IsBetter(stats)) return;
  const torch::NoGradGuard no_grad;
  best_ = stats;
  if (Known(stats.valid) && 4 * (stats.epoch + 1) <= 3 * epochs_) earlier_ = stats.valid->metric;
  weights_.clear();
  for (const torch::Tensor& value : values_) weights_.push_back(value.detach().clone());
}

void BestModel::Restore() {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < weights_.size(); ++i) {
    torch::Tensor value = values_[i].detach();
    value.copy_(weights_[i]);
  }
}

}  // namespace halograph

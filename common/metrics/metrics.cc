#include "common/metrics/metrics.h"

#include <array>

namespace halograph {

double Counter::Value() const {
  int64_t sum = 0;
  metric_cells::Sum(slot_, {&sum, 1});
  return static_cast<double>(sum) / static_cast<double>(of_one_);
}

void Histogram::ObserveDouble(double value) {
  if (std::isnan(value)) return;
  metric_cells::Cell* const cells = metric_cells::CellsFrom(slot_);
  metric_cells::AddTo(cells[0], value * buckets_->scale());
  metric_cells::AddTo(cells[1 + buckets_->OfDouble(value)], int64_t{1});
}

HistogramSnapshot Histogram::Take() const {
  std::array<int64_t, 1 + Buckets::kMostBounds + 1> sums{};
  const std::span<int64_t> used(sums.data(), 1 + buckets_->size());
  metric_cells::Sum(slot_, used);
  HistogramSnapshot snapshot;
  snapshot.bounds = buckets_->bounds();
  snapshot.counts.assign(used.begin() + 1, used.end());
  for (const int64_t count : snapshot.counts) snapshot.count += count;
  snapshot.sum = std::bit_cast<double>(sums[0]) / buckets_->scale();
  return snapshot;
}

}  // namespace halograph

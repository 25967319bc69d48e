// What code counts with: a Counter, a Gauge, a Histogram. A registry makes and owns them
// (common/metrics/registry.h); they live as long as it does, and nobody may count after its end.
// All are thread-safe. Counters and histograms count in the calling thread's own cells
// (common/metrics/cells.h): a few nanoseconds, without a lock, however many threads count.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/metrics/buckets.h"
#include "common/metrics/cells.h"
#include "common/metrics/snapshot.h"

namespace halograph {

// What only grows: calls, rows, bytes, or seconds.
class Counter {
 public:
  // Of a counter of seconds, n whole seconds. Nothing if n is below 1.
  void Add(int64_t n = 1) { AddCells(n * of_one_); }
  // Of a counter of seconds only.
  void Add(std::chrono::nanoseconds time) { AddCells(time.count()); }

  // What all threads counted, in the unit. Takes a lock: for who reads, not for who counts.
  [[nodiscard]] double Value() const;

  Counter(uint32_t slot, MetricUnit unit)
      : slot_(slot), of_one_(unit == MetricUnit::kSeconds ? 1'000'000'000 : 1) {}

 private:
  void AddCells(int64_t n) {
    if (n > 0) metric_cells::AddTo(*metric_cells::CellsFrom(slot_), n);
  }

  const uint32_t slot_;
  const int64_t of_one_;  // in cells: a nanosecond, or one
};

// What is at a level now. One value for all threads: the last one set, and what was added since.
class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  // An atomic addition: a cache line that those who add share. Not for each row.
  void Add(double change) { value_.fetch_add(change, std::memory_order_relaxed); }

  [[nodiscard]] double Value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Values by buckets, and their sum.
class Histogram {
 public:
  // Of a histogram of seconds only. A time below 0 counts as 0.
  void Observe(std::chrono::nanoseconds time) { Record(time.count() > 0 ? time.count() : 0); }
  // A value in the unit: bytes, or whole seconds.
  template <std::integral Integer>
  void Observe(Integer value) {
    if (buckets_->scale() == 1 && std::in_range<int64_t>(value) && value >= 0) [[likely]] {
      Record(static_cast<int64_t>(value));
    } else {
      ObserveDouble(static_cast<double>(value));
    }
  }
  template <std::floating_point Float>
  void Observe(Float value) {
    ObserveDouble(value);
  }

  // What all threads observed. Takes a lock, as Counter::Value.
  [[nodiscard]] HistogramSnapshot Take() const;

  Histogram(uint32_t slot, std::shared_ptr<const Buckets> buckets)
      : slot_(slot), buckets_(std::move(buckets)) {}

 private:
  // The cells are the sum (of what Record is given, as a double) and the buckets.
  void Record(int64_t value) {
    metric_cells::Cell* const cells = metric_cells::CellsFrom(slot_);
    metric_cells::AddTo(cells[0], static_cast<double>(value));
    metric_cells::AddTo(cells[1 + buckets_->Of(value)], int64_t{1});
  }
  // Nothing for what is no number.
  void ObserveDouble(double value);

  const uint32_t slot_;
  const std::shared_ptr<const Buckets> buckets_;
};

}  // namespace halograph

// The buckets of a histogram, and how the bucket of a value is found: by the exponent of the value
// and the next three bits, which lead into a table of where to begin. Immutable, so thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/metrics/metric_info.h"

namespace halograph {

// The bounds of gRFC A66 (https://github.com/grpc/proposal): of durations in seconds, from 0 and 10
// microseconds to 100 seconds, and of sizes in bytes, from 0 to 4 GiB.
[[nodiscard]] std::span<const double> LatencyBounds();
[[nodiscard]] std::span<const double> SizeBounds();

// The value below which a share `q` in [0, 1] of all lies, as Prometheus' histogram_quantile has
// it: evenly spread within its bucket, the last bound for what is above all bounds. `counts`: a
// bucket each, and a last one for what is above all bounds; below 0 counts as 0. 0 if there is
// none, or counts do not fit the bounds.
[[nodiscard]] double QuantileOf(std::span<const double> bounds, std::span<const int64_t> counts,
                                double q);

// Bucket i holds the values in (bound i - 1, bound i]; a last one, those above all bounds.
class Buckets {
 public:
  static constexpr size_t kMostBounds = 64;

  // InvalidArgument unless there are 1 to kMostBounds bounds, finite and ascending.
  [[nodiscard]] static Status Check(std::span<const double> bounds);

  // `bounds` pass Check. Integers of metrics in seconds are nanoseconds.
  Buckets(std::span<const double> bounds, MetricUnit unit);

  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  [[nodiscard]] size_t size() const { return bounds_.size() + 1; }
  // How many of the integers make one of the unit: 1e9 for seconds, else 1.
  [[nodiscard]] double scale() const { return scale_; }

  // The bucket of an integer; `value` is at least 0.
  [[nodiscard]] size_t Of(int64_t value) const {
    size_t bucket = start_[KeyOf(static_cast<uint64_t>(value))];
    while (value > uppers_[bucket]) ++bucket;
    return bucket;
  }
  // The bucket of a value in the unit; not NaN.
  [[nodiscard]] size_t OfDouble(double value) const;

 private:
  // Keys ascend with the values: 0 to 7 by themselves, then eight for each power of two.
  static constexpr size_t kKeys = size_t{61} * 8;
  [[nodiscard]] static size_t KeyOf(uint64_t value) {
    if (value < 8) return value;
    const int exponent = 63 - std::countl_zero(value);
    return (static_cast<size_t>(exponent - 3) << 3U) +
           (value >> static_cast<unsigned>(exponent - 3));
  }

  std::vector<double> bounds_;
  double scale_;
  // The largest integer of each bucket; the last one has no end.
  std::array<int64_t, kMostBounds + 1> uppers_;
  std::array<uint8_t, kKeys> start_{};  // of each key, the bucket of its least value
};

}  // namespace halograph

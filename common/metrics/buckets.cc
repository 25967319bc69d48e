#include "common/metrics/buckets.h"

#include <algorithm>
#include <cmath>

namespace halograph {
namespace {

constexpr double kLatencies[] = {
    0,    1e-5,  5e-5,  1e-4, 3e-4,  6e-4, 8e-4, 1e-3, 2e-3,  3e-3, 4e-3, 5e-3, 6e-3, 8e-3,
    0.01, 0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1,  0.13, 0.16, 0.2,
    0.25, 0.3,   0.4,   0.5,  0.65,  0.8,  1,    2,    5,     10,   20,   50,   100};

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;
constexpr double kGiB = 1024 * kMiB;
constexpr double kSizes[] = {0,         kKiB,       2 * kKiB, 4 * kKiB, 16 * kKiB,
                             64 * kKiB, 256 * kKiB, kMiB,     4 * kMiB, 16 * kMiB,
                             64 * kMiB, 256 * kMiB, kGiB,     4 * kGiB};

constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

// The largest integer that is at most `bound`, which is a decimal fraction: 0.3 * 1e9 is
// 299999999.9...
int64_t Upper(double bound) {
  constexpr double kRounding = 1e-12;
  const double nearest = std::round(bound);
  const double upper =
      std::abs(bound - nearest) <= kRounding * std::abs(nearest) ? nearest : std::floor(bound);
  return upper >= static_cast<double>(kNoEnd) ? kNoEnd : static_cast<int64_t>(upper);
}

}  // namespace

std::span<const double> LatencyBounds() { return kLatencies; }
std::span<const double> SizeBounds() { return kSizes; }

double QuantileOf(std::span<const double> bounds, std::span<const int64_t> counts, double q) {
  if (bounds.empty() || counts.size() != bounds.size() + 1) return 0;
  const auto in = [&](size_t bucket) {
    return static_cast<double>(std::max<int64_t>(counts[bucket], 0));
  };
  double all = 0;
  for (size_t i = 0; i < counts.size(); ++i) all += in(i);
  if (all == 0) return 0;
  const double rank = std::clamp(q, 0.0, 1.0) * all;
  double below = 0;
  size_t bucket = 0;
  while (bucket < bounds.size() && below + in(bucket) < rank) below += in(bucket++);
  if (bucket == bounds.size()) return bounds.back();
  const double upper = bounds[bucket];
  if (bucket == 0 && upper <= 0) return upper;
  const double lower = bucket == 0 ? 0 : bounds[bucket - 1];
  if (in(bucket) == 0) return lower;  // q is 0
  return lower + (upper - lower) * (rank - below) / in(bucket);
}

Status Buckets::Check(std::span<const double> bounds) {
  if (bounds.empty() || bounds.size() > kMostBounds) {
    return InvalidArgument("{} bounds of buckets; there are 1 to {}", bounds.size(), kMostBounds);
  }
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (!std::isfinite(bounds[i]) || (i > 0 && bounds[i] <= bounds[i - 1])) {
      return InvalidArgument("bound {} of buckets is {}; bounds are finite and ascend", i,
                             bounds[i]);
    }
  }
  return OkStatus();
}

Buckets::Buckets(std::span<const double> bounds, MetricUnit unit)
    : bounds_(bounds.begin(), bounds.end()), scale_(unit == MetricUnit::kSeconds ? 1e9 : 1) {
  uppers_.fill(kNoEnd);
  for (size_t i = 0; i < bounds_.size(); ++i) uppers_[i] = Upper(bounds_[i] * scale_);
  // A key's least value is the first that has it: the values of a key are next to one another.
  for (size_t key = 0; key < kKeys; ++key) {
    const uint64_t least = key < 8 ? key : (8 + key % 8) << (key / 8 - 1);
    size_t bucket = 0;
    while (static_cast<int64_t>(least) > uppers_[bucket]) ++bucket;
    start_[key] = static_cast<uint8_t>(bucket);
  }
}

size_t Buckets::OfDouble(double value) const {
  return static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) -
                             bounds_.begin());
}

}  // namespace halograph

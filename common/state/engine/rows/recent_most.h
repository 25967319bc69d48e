// The largest of the values of the last minute or so: of the half minute that goes on, and of the
// one before it. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

namespace halograph {

class RecentMost {
 public:
  static constexpr int64_t kHalfNs = 30'000'000'000;

  // Requires value >= 0, and times that do not go back.
  void Add(int64_t value, int64_t now_ns) {
    if (now_ns - begin_ns_ >= kHalfNs) {
      before_ = now_ns - begin_ns_ < 2 * kHalfNs ? most_ : 0;
      most_ = 0;
      begin_ns_ = now_ns;
    }
    most_ = std::max(most_, value);
  }
  // 0: there was none.
  [[nodiscard]] int64_t Value(int64_t now_ns) const {
    const int64_t age_ns = now_ns - begin_ns_;
    if (age_ns < kHalfNs) return std::max(most_, before_);
    return age_ns < 2 * kHalfNs ? most_ : 0;
  }

 private:
  int64_t begin_ns_ = 0;
  int64_t most_ = 0;
  int64_t before_ = 0;
};

}  // namespace halograph

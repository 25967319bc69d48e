#include "client/remote/retry.h"

#include <algorithm>

namespace halograph {

std::chrono::nanoseconds RetryPause(int attempts, std::optional<std::chrono::milliseconds> pushback,
                                    uint64_t draw) {
  const double unit = static_cast<double>(draw >> 11) * 0x1.0p-53;  // [0, 1)
  if (pushback.has_value()) {
    return std::chrono::nanoseconds(static_cast<int64_t>(
        static_cast<double>(std::chrono::nanoseconds(*pushback).count()) * (1.0 + unit / 2)));
  }
  const int doublings = std::clamp(attempts - 1, 0, 10);
  const auto pause = std::min<std::chrono::nanoseconds>(kFirstBackoff * (int64_t{1} << doublings),
                                                        kLongestBackoff);
  return std::chrono::nanoseconds(
      static_cast<int64_t>(static_cast<double>(pause.count()) * (0.5 + unit)));
}

}  // namespace halograph

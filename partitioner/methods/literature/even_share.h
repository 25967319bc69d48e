// What "balanced" means of edge partitioners' edges and owners. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace halograph {

// What each of `parts` may take of `count`: `tolerance` times the even share, and room for all.
[[nodiscard]] inline int64_t ShareCap(int64_t count, int parts, double tolerance) {
  const auto share = static_cast<double>(count) / parts;
  return std::max((count + parts - 1) / parts, static_cast<int64_t>(tolerance * share));
}

// 1 where there is nothing.
[[nodiscard]] inline double MaxOverMean(const std::vector<int64_t>& loads) {
  const auto sum = std::accumulate(loads.begin(), loads.end(), int64_t{0});
  if (sum == 0) return 1;
  return static_cast<double>(*std::max_element(loads.begin(), loads.end())) *
         static_cast<double>(loads.size()) / static_cast<double>(sum);
}

}  // namespace halograph

// Checks of options that several generators have. Each returns OK, or InvalidArgument that names
// the option, its value and its range. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

// 1 to 2^31: ids of generated graphs fit 32 bits.
[[nodiscard]] Status CheckNodes(int64_t nodes);
// 0 to one edge from each node to each, about.
[[nodiscard]] Status CheckAverageDegree(double average_degree, int64_t nodes);
// 0 to 1. `what`: of what, as "homophily".
[[nodiscard]] Status CheckShare(std::string_view what, double share);
// 0 to 2^20.
[[nodiscard]] Status CheckFeatureDim(int64_t feature_dim);
// 0 or above, finite.
[[nodiscard]] Status CheckNoise(double noise);

}  // namespace halograph

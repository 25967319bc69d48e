#include "partitioner/generate/option_checks.h"

#include <cmath>

namespace halograph {
namespace {

constexpr int64_t kMaxNodes = int64_t{1} << 31;
constexpr int64_t kMaxFeatureDim = 1 << 20;

}  // namespace

Status CheckNodes(int64_t nodes) {
  if (nodes >= 1 && nodes <= kMaxNodes) return OkStatus();
  return InvalidArgument("nodes is {}, expected 1 to {}", nodes, kMaxNodes);
}

Status CheckAverageDegree(double average_degree, int64_t nodes) {
  if (average_degree >= 0 && average_degree <= static_cast<double>(nodes)) return OkStatus();
  return InvalidArgument("average_degree is {}, expected 0 to the number of nodes, {}",
                         average_degree, nodes);
}

Status CheckShare(std::string_view what, double share) {
  if (share >= 0 && share <= 1) return OkStatus();
  return InvalidArgument("{} is {}, expected 0 to 1", what, share);
}

Status CheckFeatureDim(int64_t feature_dim) {
  if (feature_dim >= 0 && feature_dim <= kMaxFeatureDim) return OkStatus();
  return InvalidArgument("feature_dim is {}, expected 0 to {}", feature_dim, kMaxFeatureDim);
}

Status CheckNoise(double noise) {
  if (noise >= 0 && std::isfinite(noise)) return OkStatus();
  return InvalidArgument("noise is {}, expected 0 or above", noise);
}

}  // namespace halograph

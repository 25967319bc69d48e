// Compiled without contraction: every machine draws the same.
#include "common/sampling/weighted_heavy.h"

namespace halograph {

int HeavyDraws::Locate(uint64_t draw) const {
  double x = DrawnShare(draw) * (heavy_ + rest_);
  if (!(x < heavy_) && rest_ != 0) return kNone;
  return static_cast<int>(LocateWeight(left_, &x));
}

std::array<double, kHeavyEdges> HeavyDraws::Tails() const {
  std::array<double, kHeavyEdges> tails;
  double sum = 0;
  for (size_t i = kHeavyEdges; i-- > 0;) tails[i] = sum += left_[i];
  return tails;
}

bool HeavyDraws::FallsOnNone(uint64_t draw, double heavy) const {
  return !(DrawnShare(draw) * (heavy + rest_) < heavy);
}

void HeavyDraws::Sum() {
  heavy_ = 0;
  for (const double weight : left_) heavy_ += weight;
  if (heavy_ + rest_ < kTinyWeightSum && heavy_ + rest_ > 0) {
    for (double& weight : left_) weight *= kWeightScale;
    heavy_ *= kWeightScale;
    rest_ *= kWeightScale;
  }
}

}  // namespace halograph

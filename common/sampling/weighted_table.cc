// Compiled without contraction: every machine makes the same table.
#include "common/sampling/weighted_table.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace halograph {

double SumOfWeights(std::span<const double> weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  return sum;
}

uint32_t AliasTableBuilder::Build(std::span<const double> weights, AliasEntry* entries) {
  constexpr uint32_t kAlways = std::numeric_limits<uint32_t>::max();
  assert(weights.size() <= kAlways);
  const auto degree = static_cast<uint32_t>(weights.size());
  const double sum = SumOfWeights(weights);
  assert(sum >= 0 && sum <= kMaxWeightSum);
  uint32_t drawable = 0;
  for (uint32_t i = 0; i < degree; ++i) {
    entries[i] = {.threshold = sum > 0 ? kAlways : 0, .alias = i, .weight = weights[i]};
    drawable += weights[i] > 0 ? 1 : 0;
  }
  if (drawable == 0) return 0;
  shares_.resize(degree);
  small_.clear();
  large_.clear();
  for (uint32_t i = 0; i < degree; ++i) {
    shares_[i] = (weights[i] / sum) * static_cast<double>(degree);
    (shares_[i] < 1 ? small_ : large_).push_back(i);
  }
  while (!small_.empty() && !large_.empty()) {
    const uint32_t s = small_.back();
    const uint32_t g = large_.back();
    small_.pop_back();
    large_.pop_back();
    entries[s].threshold = static_cast<uint32_t>(shares_[s] * 0x1p32);
    entries[s].alias = g;
    shares_[g] = (shares_[g] + shares_[s]) - 1;
    (shares_[g] < 1 ? small_ : large_).push_back(g);
  }
  for (const uint32_t s : small_) {  // left by rounding: nearly 1, unless it must not be drawn
    if (weights[s] > 0) continue;
    const auto greatest = std::max_element(weights.begin(), weights.end());
    entries[s].threshold = 0;
    entries[s].alias = static_cast<uint32_t>(greatest - weights.begin());
  }
  return drawable;
}

}  // namespace halograph

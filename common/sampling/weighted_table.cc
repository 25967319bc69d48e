// Compiled without contraction: every machine makes the same table.
#include "common/sampling/weighted_table.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace halograph {
namespace {

// The heaviest edges, greater weights first, of equal ones the first. Requires enough weights.
void FindHeaviest(std::span<const double> weights, HeavyEdges* heavy) {
  size_t found = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (found == kHeavyEdges && !(weights[i] > heavy->weights.back())) continue;
    size_t at = found < kHeavyEdges ? found++ : kHeavyEdges - 1;
    for (; at > 0 && heavy->weights[at - 1] < weights[i]; --at) {
      heavy->weights[at] = heavy->weights[at - 1];
      heavy->positions[at] = heavy->positions[at - 1];
    }
    heavy->weights[at] = weights[i];
    heavy->positions[at] = static_cast<uint32_t>(i);
  }
}

}  // namespace

double SumOfWeights(std::span<const double> weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  return sum;
}

void WeightTableBuilder::Build(std::span<const double> weights, int64_t node, int64_t begin,
                               const WeightTableRoom& room) {
  assert(static_cast<int64_t>(weights.size()) <= kMaxWeightedDegree);
  AliasEntry* const entries = room.entries + begin;
  std::copy(weights.begin(), weights.end(), room.weights + begin);
  const auto drawable = static_cast<uint32_t>(
      std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 0; }));
  room.drawable[node] = drawable;
  if (static_cast<int64_t>(weights.size()) >= kHeavyDegree) {
    if (SetHeavyApart(weights, room.heavy + begin / kHeavyDegree)) {
      room.drawable[node] |= WeightTable::kTopHeavy;
      return MakeAliases(rest_, entries);
    }
  }
  MakeAliases(weights, entries);
}

bool WeightTableBuilder::SetHeavyApart(std::span<const double> weights, HeavyEdges* heavy) {
  FindHeaviest(weights, heavy);
  rest_.assign(weights.begin(), weights.end());
  for (const uint32_t position : heavy->positions) rest_[position] = 0;
  heavy->rest = SumOfWeights(rest_);
  const double sum = SumOfWeights(heavy->weights);
  const bool top_heavy = sum > 0 && sum >= heavy->rest;
  if (!top_heavy) *heavy = {};
  return top_heavy;
}

void WeightTableBuilder::MakeAliases(std::span<const double> weights, AliasEntry* entries) {
  constexpr uint32_t kAlways = std::numeric_limits<uint32_t>::max();
  const auto degree = static_cast<uint32_t>(weights.size());
  const double sum = SumOfWeights(weights);
  assert(sum >= 0 && sum <= kMaxWeightSum);
  for (uint32_t i = 0; i < degree; ++i) {
    entries[i] = {.threshold = sum > 0 ? kAlways : 0, .alias = i};
  }
  if (sum == 0) return;
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
}

}  // namespace halograph

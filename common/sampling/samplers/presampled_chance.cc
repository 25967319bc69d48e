// Compiled without contraction: every machine gives the same chances.
#include "common/sampling/samplers/presampled_chance.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "common/sampling/samplers/inclusion_chance.h"

namespace halograph {
namespace {

uint32_t AtLeastOne(uint32_t count) { return std::max(count, uint32_t{1}); }

}  // namespace

PresampledChances::PresampledChances(int64_t nodes, int64_t edges)
    : nodes_(static_cast<size_t>(nodes)), edges_(static_cast<size_t>(edges)) {}

void PresampledChances::Add(std::span<const int64_t> nodes, std::span<const int64_t> edges) {
  for (const int64_t node : nodes) ++nodes_[static_cast<size_t>(node)];
  for (const int64_t edge : edges) ++edges_[static_cast<size_t>(edge)];
  seen_nodes_ += std::ssize(nodes);
  ++subgraphs_;
}

double PresampledChances::coverage() const {
  if (nodes_.empty()) return 0;
  return static_cast<double>(seen_nodes_) / static_cast<double>(nodes_.size());
}

int64_t PresampledChances::unseen() const { return std::count(nodes_.begin(), nodes_.end(), 0U); }

double PresampledChances::ChanceOfSeen(int64_t node) const {
  assert(subgraphs_ > 0);
  return static_cast<double>(AtLeastOne(nodes_[static_cast<size_t>(node)])) /
         static_cast<double>(subgraphs_);
}

double PresampledChances::FactorOfSeen(int64_t node, int64_t edge) const {
  return EdgeFactor(AtLeastOne(nodes_[static_cast<size_t>(node)]),
                    AtLeastOne(edges_[static_cast<size_t>(edge)]));
}

ChanceError PresampledChances::NodeError() const {
  assert(subgraphs_ > 0);
  std::map<uint32_t, int64_t> nodes_by_count;  // counts are few beside nodes
  for (const uint32_t count : nodes_) ++nodes_by_count[count];
  nodes_by_count.erase(0);
  const auto spread_of = [this](uint32_t count) {  // standard deviation
    const double share = static_cast<double>(count) / static_cast<double>(subgraphs_);
    return std::sqrt((1 - share) / count);
  };
  const auto all = static_cast<double>(nodes_.size());
  // The share of nodes that are off by at most `error`, below 1.
  const auto within = [&](double error) {
    double sum = 0;
    for (const auto& [count, nodes] : nodes_by_count) {
      const double spread = spread_of(count);
      sum += static_cast<double>(nodes) *
             (spread > 0 ? std::erf(error / (spread * std::sqrt(2.0))) : 1);
    }
    return sum / all;
  };
  const auto quantile = [&](double share) {
    double low = 0, high = 1;  // halved to three digits
    for (int i = 0; i < 12; ++i) {
      const double middle = (low + high) / 2;
      (within(middle) < share ? low : high) = middle;
    }
    return high;
  };
  if (nodes_.empty()) return {};
  return {.median = quantile(.5), .high = quantile(.95)};
}

}  // namespace halograph

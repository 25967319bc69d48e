#include "partitioner/generate/node_pairs.h"

#include <algorithm>

#include "common/base/progress.h"

namespace halograph {
namespace {

constexpr int kRounds = 64;  // of drawing what was drawn twice again

}  // namespace

void NodePairs::Draw(int64_t target, const DrawPair& draw_pair) {
  const auto wanted = static_cast<size_t>(target);
  Progress progress("drawing edges", target);
  uint64_t number = 0;
  for (int round = 0; round < kRounds && pairs_.size() < wanted; ++round) {
    const size_t before = pairs_.size();
    for (size_t missing = wanted - before; missing > 0; --missing) {
      const auto [u, v] = draw_pair(number++);
      if (u != v) pairs_.push_back(uint64_t{std::min(u, v)} << 32 | std::max(u, v));
    }
    std::sort(pairs_.begin(), pairs_.end());
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
    progress.Advance(static_cast<int64_t>(pairs_.size() - before));
  }
}

bool NodePairs::TooFewOf(int64_t target) const {
  return static_cast<double>(pairs_.size()) < 0.98 * static_cast<double>(target);
}

void NodePairs::FillEdges(int64_t begin, std::span<int64_t> sources,
                          std::span<int64_t> destinations) const {
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t edge = begin + static_cast<int64_t>(i);
    const uint64_t pair = pairs_[static_cast<size_t>(edge / 2)];
    sources[i] = static_cast<int64_t>(pair >> 32);
    destinations[i] = static_cast<int64_t>(pair & 0xffffffff);
    if (edge % 2 == 1) std::swap(sources[i], destinations[i]);
  }
}

}  // namespace halograph

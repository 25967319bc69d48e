#include "partitioner/generate/communities.h"

#include <algorithm>
#include <cmath>

#include "common/base/progress.h"
#include "common/base/rng.h"

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

NodeGroups::NodeGroups(int64_t nodes, int64_t groups, uint64_t key)
    : groups_(static_cast<size_t>(nodes)),
      starts_(static_cast<size_t>(groups) + 1, 0),
      members_(static_cast<size_t>(nodes)) {
  for (size_t node = 0; node < groups_.size(); ++node) {
    const uint64_t group = Bounded(SubKey(key, node), static_cast<uint64_t>(groups));
    groups_[node] = static_cast<uint32_t>(group);
    ++starts_[group + 1];
  }
  for (size_t group = 1; group < starts_.size(); ++group) starts_[group] += starts_[group - 1];
  std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
  for (size_t node = 0; node < groups_.size(); ++node) {
    members_[static_cast<size_t>(next[groups_[node]]++)] = static_cast<uint32_t>(node);
  }
}

void CornerFeatures::Fill(int64_t node, uint64_t node_class, std::span<float> row) const {
  const uint64_t corner = SubKey(corner_key_, node_class);
  CounterRng rng(SubKey(noise_key_, static_cast<uint64_t>(node)));
  const double scale = 1 / std::sqrt(1 + noise_ * noise_);
  for (size_t i = 0; i < row.size(); ++i) {
    const double mean = SubKey(corner, i) >> 63 == 0 ? 1 : -1;
    row[i] = static_cast<float>((mean + noise_ * GaussianLike(rng.Next())) * scale);
  }
}

GeneratedGraph DescribeCommunities(const NodePairs& pairs, const CornerFeatures& features,
                                   std::function<int64_t(int64_t node)> community_of) {
  GeneratedGraph graph;
  graph.edges = 2 * pairs.size();
  graph.fill_edges = [&pairs](int64_t begin, std::span<int64_t> sources,
                              std::span<int64_t> destinations) {
    pairs.FillEdges(begin, sources, destinations);
  };
  graph.fill_features = [&features, community_of](int64_t node, std::span<float> row) {
    features.Fill(node, static_cast<uint64_t>(community_of(node)), row);
  };
  graph.label = std::move(community_of);
  return graph;
}

}  // namespace halograph

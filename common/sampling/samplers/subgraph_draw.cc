#include "common/sampling/samplers/subgraph_draw.h"

#include <algorithm>
#include <cassert>

#include "absl/container/flat_hash_map.h"
#include "common/sampling/layer_wise_draw.h"

namespace halograph {
namespace {

constexpr size_t kBlock = 64;  // degrees that share a sum: some 4 lines

void Count(int64_t node, absl::flat_hash_map<int64_t, size_t>* places, DrawnNodes* drawn) {
  const auto [place, is_new] = places->try_emplace(node, drawn->nodes.size());
  if (is_new) {
    drawn->nodes.push_back(node);
    drawn->counts.push_back(0);
  }
  ++drawn->counts[place->second];
}

// Draws numbers below `total`, and counts the node of each.
template <typename NodeOf>
StatusOr<DrawnNodes> DrawMany(int64_t draws, uint64_t total, uint64_t subgraph_key,
                              const char* nothing, const NodeOf& node_of) {
  if (draws < 0 || draws > kMaxSubgraphDraws) {
    return OutOfRange("a subgraph cannot be made of {} draws; ask for 0 to {}", draws,
                      kMaxSubgraphDraws);
  }
  if (draws > 0 && total == 0) {
    return FailedPrecondition("a subgraph of {} draws was asked of {}", draws, nothing);
  }
  DrawnNodes drawn;
  absl::flat_hash_map<int64_t, size_t> places;
  for (int64_t i = 0; i < draws; ++i) {
    const WideSum draw = ColumnDraw(subgraph_key, static_cast<uint64_t>(i));
    Count(node_of(ShareOf(draw, total)), &places, &drawn);
  }
  return drawn;
}

}  // namespace

DegreeSums::DegreeSums(std::span<const uint32_t> degrees) : degrees_(degrees) {
  before_.reserve(degrees.size() / kBlock + 2);
  uint64_t sum = 0;
  for (size_t at = 0; at < degrees.size(); at += kBlock) {
    before_.push_back(sum);
    for (const uint32_t degree : degrees.subspan(at, std::min(kBlock, degrees.size() - at))) {
      sum += degree;
    }
  }
  before_.push_back(sum);
}

int64_t DegreeSums::Find(uint64_t target) const {
  assert(target < total());
  const auto after = std::upper_bound(before_.begin(), before_.end(), target);
  const auto block = static_cast<size_t>(after - before_.begin()) - 1;
  uint64_t rest = target - before_[block];
  size_t node = block * kBlock;
  for (; rest >= degrees_[node]; ++node) rest -= degrees_[node];
  return static_cast<int64_t>(node);
}

StatusOr<DrawnNodes> DrawByDegree(const DegreeSums& sums, int64_t draws, uint64_t subgraph_key) {
  return DrawMany(draws, sums.total(), subgraph_key,
                  "a relation without edges; take another graph, or another sampler",
                  [&](uint64_t target) { return sums.Find(target); });
}

StatusOr<DrawnNodes> DrawUniformly(int64_t nodes, int64_t draws, uint64_t subgraph_key) {
  assert(nodes >= 0);
  return DrawMany(draws, static_cast<uint64_t>(nodes), subgraph_key,
                  "a node type without nodes; take another graph",
                  [](uint64_t target) { return static_cast<int64_t>(target); });
}

DrawnNodes CountPicked(std::span<const int64_t> picked) {
  assert(std::ssize(picked) <= kMaxSubgraphDraws);
  DrawnNodes drawn;
  absl::flat_hash_map<int64_t, size_t> places;
  for (const int64_t node : picked) Count(node, &places, &drawn);
  return drawn;
}

}  // namespace halograph

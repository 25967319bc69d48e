// What edge partitioners know of the partitions while they place edges: bounds, loads, replicas
// of nodes, and edges of a node in each partition.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "partitioner/stream/node_array.h"

namespace halograph {

// The bound of each of `parts` partitions when `count` is divided: `tolerance` times the even
// share, and never so little that something has no room.
[[nodiscard]] inline int64_t ShareCap(int64_t count, int parts, double tolerance) {
  const auto share = static_cast<double>(count) / parts;
  return std::max((count + parts - 1) / parts, static_cast<int64_t>(tolerance * share));
}

// The balance of `loads`; 1 if all are 0.
[[nodiscard]] inline double MaxOverMean(const std::vector<int64_t>& loads) {
  const auto sum = std::accumulate(loads.begin(), loads.end(), int64_t{0});
  if (sum == 0) return 1;
  return static_cast<double>(*std::max_element(loads.begin(), loads.end())) *
         static_cast<double>(loads.size()) / static_cast<double>(sum);
}

// How many edges each partition has taken, its bound, and the least loaded partitions. Not
// thread-safe.
class EdgeLoads {
 public:
  EdgeLoads() = default;
  EdgeLoads(int parts, int64_t cap) : loads_(static_cast<size_t>(parts), 0), cap_(cap) {
    FindLeast();
  }

  [[nodiscard]] int parts() const { return static_cast<int>(loads_.size()); }
  [[nodiscard]] int64_t of(int part) const { return loads_[static_cast<size_t>(part)]; }
  [[nodiscard]] bool HasRoom(int part) const { return of(part) < cap_; }
  [[nodiscard]] int64_t least() const { return least_; }
  [[nodiscard]] int64_t most() const { return most_; }

  // Amortised O(1): the least load rises at most edges / parts times.
  void Add(int part) {
    int64_t& load = loads_[static_cast<size_t>(part)];
    if (load++ == least_) {
      at_least_[static_cast<size_t>(part / 64)] &= ~(uint64_t{1} << (part % 64));
      if (--num_at_least_ == 0) FindLeast();
    }
    most_ = std::max(most_, load);
  }

  // Of the partitions with the least load the first at or behind partition `start`, cyclically.
  [[nodiscard]] int LeastLoaded(int start) const {
    const size_t words = at_least_.size();
    size_t word = static_cast<size_t>(start) / 64;
    uint64_t bits = at_least_[word] >> (start % 64) << (start % 64);
    for (size_t i = 0; bits == 0 && i <= words; ++i) {
      word = word + 1 == words ? 0 : word + 1;
      bits = at_least_[word];
    }
    return static_cast<int>(word) * 64 + std::countr_zero(bits);
  }

 private:
  void FindLeast() {
    least_ = *std::min_element(loads_.begin(), loads_.end());
    at_least_.assign((loads_.size() + 63) / 64, 0);
    num_at_least_ = 0;
    for (size_t p = 0; p < loads_.size(); ++p) {
      if (loads_[p] != least_) continue;
      at_least_[p / 64] |= uint64_t{1} << (p % 64);
      ++num_at_least_;
    }
  }

  std::vector<int64_t> loads_;
  int64_t cap_ = 0;
  int64_t least_ = 0, most_ = 0;
  std::vector<uint64_t> at_least_;  // a bit for each partition with the least load
  int num_at_least_ = 0;
};

// A(v) of the papers: the partitions that hold an edge of a node, as a bit a partition, in as few
// bytes a node as do: ceil(parts / 8) up to 64 partitions, whole words of 64 beyond.
class NodeReplicas {
  static_assert(std::endian::native == std::endian::little);  // bit p of a word lies in byte p / 8

 public:
  NodeReplicas() = default;
  // ResourceExhausted without memory.
  [[nodiscard]] static StatusOr<NodeReplicas> Make(int64_t nodes, int parts) {
    NodeReplicas sets;
    sets.row_bytes_ = RowBytes(parts);
    sets.words_ = (parts + 63) / 64;
    if (parts < 64) sets.mask_ = (uint64_t{1} << parts) - 1;
    // A word is read from any row, so the last rows need a word behind them.
    HG_ASSIGN_OR_RETURN(sets.bits_,
                        NodeArray<uint8_t>::Make(nodes * sets.row_bytes_ + 8, "replica sets"));
    return sets;
  }
  [[nodiscard]] static int64_t RowBytes(int parts) {
    return parts <= 64 ? (parts + 7) / 8 : (parts + 63) / 64 * 8;
  }

  [[nodiscard]] int words() const { return words_; }
  // Partitions 64 * word to 64 * word + 63.
  [[nodiscard]] uint64_t Word(int64_t node, int word) const {
    uint64_t bits;
    std::memcpy(&bits, bits_.data() + node * row_bytes_ + 8 * word, sizeof(bits));
    return words_ == 1 ? bits & mask_ : bits;
  }
  [[nodiscard]] bool Contains(int64_t node, int part) const {
    return (bits_[node * row_bytes_ + part / 8] >> (part % 8) & 1) != 0;
  }
  void Add(int64_t node, int part) {
    bits_[node * row_bytes_ + part / 8] |= static_cast<uint8_t>(1 << (part % 8));
  }
  [[nodiscard]] bool Empty(int64_t node) const { return Count(node) == 0; }
  [[nodiscard]] int Count(int64_t node) const {
    int count = 0;
    for (int w = 0; w < words_; ++w) count += std::popcount(Word(node, w));
    return count;
  }
  void Prefetch(int64_t node) const { bits_.Prefetch(node * row_bytes_); }
  void Clear() { bits_.Clear(); }

 private:
  NodeArray<uint8_t> bits_;
  int64_t row_bytes_ = 0;
  int words_ = 0;
  uint64_t mask_ = ~uint64_t{0};
};

// Calls visit(part) for each bit of `bits`, ascending; `word` as in NodeReplicas::Word.
template <typename Visit>
void ForEachPart(uint64_t bits, int word, const Visit& visit) {
  for (; bits != 0; bits &= bits - 1) visit(64 * word + std::countr_zero(bits));
}

// How many edges of each node of a range lie in each partition, one byte each. The majority rule
// uses it. When a count would pass 255, all counts of the node are halved (rounding up, so that a
// replica is never forgotten). For nodes with more edges than that in one partition the counts are
// therefore proportions in which later edges weigh more.
class PartCounts {
 public:
  PartCounts() = default;
  // For `nodes` nodes at a time. ResourceExhausted without memory.
  [[nodiscard]] static StatusOr<PartCounts> Make(int64_t nodes, int parts) {
    PartCounts counts;
    counts.parts_ = parts;
    counts.nodes_ = nodes;
    HG_ASSIGN_OR_RETURN(counts.counts_, NodeArray<uint8_t>::Make(nodes * parts, "edge counts"));
    return counts;
  }
  // Zeroes, and counts from now on for the nodes from `first` on.
  void Restart(int64_t first) {
    counts_.Clear();
    first_ = first;
  }
  // Of a node outside the range nothing is counted.
  void Add(int64_t node, int part) {
    if (!Holds(node)) return;
    uint8_t* row = counts_.data() + (node - first_) * parts_;
    if (row[part] == std::numeric_limits<uint8_t>::max()) {
      for (int p = 0; p < parts_; ++p) row[p] = static_cast<uint8_t>((row[p] + 1) / 2);
    }
    ++row[part];
  }
  void Prefetch(int64_t node) const {
    if (Holds(node)) counts_.Prefetch((node - first_) * parts_);
  }
  [[nodiscard]] std::span<const uint8_t> Row(int64_t node) const {
    return counts_.span().subspan(static_cast<size_t>((node - first_) * parts_),
                                  static_cast<size_t>(parts_));
  }

 private:
  [[nodiscard]] bool Holds(int64_t node) const { return node >= first_ && node - first_ < nodes_; }

  NodeArray<uint8_t> counts_;
  int64_t first_ = 0;
  int64_t nodes_ = 0;
  int parts_ = 1;
};

}  // namespace halograph

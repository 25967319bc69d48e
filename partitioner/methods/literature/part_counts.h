// How many edges of each node of a range lie in each partition, in a byte each: what the majority
// rule asks. Where one count would pass 255 all counts of the node are halved (rounding up, so that
// a replica is never forgotten): for nodes with more edges than that in one partition the counts
// are proportions, later edges weighing more.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "partitioner/stream/node_array.h"

namespace halograph {

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

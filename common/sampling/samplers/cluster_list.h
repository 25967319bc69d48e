// The clusters that a graph is divided into, of all parts, as minibatches draw them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/partition_book.h"
#include "common/sampling/layer_wise_draw.h"

namespace halograph {

// Part after part, each cluster once. Immutable. 20 bytes a cluster.
class ClusterList {
 public:
  // `bounds`, by part: where its clusters begin, and the end of the last. None: there are none.
  explicit ClusterList(std::span<const std::vector<int64_t>> bounds);
  ClusterList(const ClusterList&) = delete;
  ClusterList& operator=(const ClusterList&) = delete;

  [[nodiscard]] size_t size() const { return ranges_.size(); }
  [[nodiscard]] IdRange range(size_t cluster) const { return ranges_[cluster]; }  // of its nodes
  [[nodiscard]] const CandidateSums& sums() const { return sums_; }               // each weighs 1

 private:
  std::vector<IdRange> ranges_;
  std::vector<uint32_t> alike_;
  CandidateSums sums_;  // of alike_
};

}  // namespace halograph

// From owners to global ids. The nodes of a type are numbered part by part, so that each part owns
// one contiguous range (invariant 1), and within a part sub-part by sub-part and cluster by
// cluster, where it has such. Within these they ascend by input id, or, where the assignment has
// order keys, by (key, input id).
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Whether ids below `count` fit 32 bits: what indices.npy and everything here decide by.
[[nodiscard]] constexpr bool FitsUint32(int64_t count) {
  return count <= int64_t{std::numeric_limits<uint32_t>::max()} + 1;
}

// Global ids of one node type by input id, in 4 bytes each where the type has no more than 2^32
// nodes. Large arrays ask for huge pages: they are read at random, twice an edge. Movable;
// thread-safe to read.
class GlobalIdArray {
 public:
  // Zeros. ResourceExhausted, naming `what` and the bytes, without memory for them.
  [[nodiscard]] static StatusOr<GlobalIdArray> Make(int64_t count, std::string_view what) {
    GlobalIdArray ids;
    if (FitsUint32(count)) {
      HG_ASSIGN_OR_RETURN(ids.narrow_, NodeArray<uint32_t>::Make(count, what));
    } else {
      HG_ASSIGN_OR_RETURN(ids.wide_, NodeArray<int64_t>::Make(count, what));
    }
    return ids;
  }

  [[nodiscard]] int64_t size() const { return is_wide() ? wide_.size() : narrow_.size(); }
  [[nodiscard]] int64_t operator[](int64_t id) const {
    return is_wide() ? wide_[id] : int64_t{narrow_[id]};
  }
  // f(const uint32_t*) or f(const int64_t*), with the array itself: for loops over edges.
  template <typename F>
  decltype(auto) Visit(F&& f) const {
    return is_wide() ? f(wide_.data()) : f(narrow_.data());
  }
  template <typename F>
  decltype(auto) Visit(F&& f) {
    return is_wide() ? f(wide_.data()) : f(narrow_.data());
  }

 private:
  [[nodiscard]] bool is_wide() const { return wide_.size() > 0; }

  NodeArray<uint32_t> narrow_;
  NodeArray<int64_t> wide_;  // empty unless narrow_ cannot hold them
};

// Immutable after Create; thread-safe. 6 bytes a node (10 in types of more than 2^32).
class Renumbering {
 public:
  // With sub-parts or clusters it holds meanwhile 2 bytes a node. With order keys it holds the
  // keys, and 4 bytes a node and a cluster (8 in types of more than 2^32) of the type at hand.
  //   Internal           the assignment does not fit the data set: sizes, an owner that is none of
  //                      the `parts` parts, a sub-part or cluster that is none of them, or a key
  //                      beyond the nodes (a fault of the method)
  //   ResourceExhausted  no memory for the ids
  [[nodiscard]] static StatusOr<Renumbering> Create(const Dataset& dataset, Assignment assignment,
                                                    int parts);

  [[nodiscard]] int num_parts() const { return num_parts_; }
  // Whether ids within a part ascend by input id: it has no order keys, sub-parts or clusters.
  [[nodiscard]] bool in_input_order() const { return in_input_order_; }
  // By input id.
  [[nodiscard]] const std::vector<uint16_t>& Owners(int node_type) const {
    return owners_[static_cast<size_t>(node_type)];
  }
  [[nodiscard]] const GlobalIdArray& GlobalIds(int node_type) const {
    return global_ids_[static_cast<size_t>(node_type)];
  }
  // The row of a node (input id) in its owner's arrays.
  [[nodiscard]] int64_t LocalId(int node_type, int64_t id) const {
    const auto type = static_cast<size_t>(node_type);
    return global_ids_[type][id] - boundaries_[type][owners_[type][static_cast<size_t>(id)]];
  }
  // P + 1, per node type: what the partition book holds.
  [[nodiscard]] const std::vector<std::vector<int64_t>>& boundaries() const { return boundaries_; }
  [[nodiscard]] int64_t CoreNodes(int node_type, int part) const {
    const auto& bounds = boundaries_[static_cast<size_t>(node_type)];
    return bounds[static_cast<size_t>(part) + 1] - bounds[static_cast<size_t>(part)];
  }
  [[nodiscard]] bool has_clusters() const { return !cluster_bounds_.empty(); }
  // Where the clusters of a part begin, ascending, and the end of the last: that of the part.
  // Requires has_clusters().
  [[nodiscard]] const std::vector<int64_t>& ClusterBounds(int node_type, int part) const {
    return cluster_bounds_[static_cast<size_t>(node_type)][static_cast<size_t>(part)];
  }

 private:
  Renumbering() = default;
  int num_parts_ = 0;
  bool in_input_order_ = true;
  std::vector<std::vector<uint16_t>> owners_;
  std::vector<GlobalIdArray> global_ids_;
  std::vector<std::vector<int64_t>> boundaries_;
  std::vector<std::vector<std::vector<int64_t>>> cluster_bounds_;  // [type][part]
};

}  // namespace halograph

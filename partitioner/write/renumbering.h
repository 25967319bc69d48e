// From owners to global ids: nodes of a type are numbered partition by partition, within one
// ascending by input id, so that each partition owns one contiguous range (invariant 1).
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/write/global_id_array.h"

namespace halograph {

// Immutable after Create; thread-safe. 6 bytes a node (10 in types of more than 2^32).
class Renumbering {
 public:
  //   Internal           the assignment does not fit the data set: sizes, or an owner that is none
  //                      of the `parts` partitions (a fault of the method)
  //   ResourceExhausted  no memory for the ids
  [[nodiscard]] static StatusOr<Renumbering> Create(const Dataset& dataset, Assignment assignment,
                                                    int parts);

  [[nodiscard]] int num_parts() const { return num_parts_; }
  // By input id.
  [[nodiscard]] const std::vector<uint16_t>& Owners(int node_type) const {
    return owners_[static_cast<size_t>(node_type)];
  }
  [[nodiscard]] const GlobalIdArray& GlobalIds(int node_type) const {
    return global_ids_[static_cast<size_t>(node_type)];
  }
  // P + 1, per node type: what the partition book holds.
  [[nodiscard]] const std::vector<std::vector<int64_t>>& boundaries() const { return boundaries_; }
  [[nodiscard]] int64_t CoreNodes(int node_type, int part) const {
    const auto& bounds = boundaries_[static_cast<size_t>(node_type)];
    return bounds[static_cast<size_t>(part) + 1] - bounds[static_cast<size_t>(part)];
  }

 private:
  Renumbering() = default;
  int num_parts_ = 0;
  std::vector<std::vector<uint16_t>> owners_;
  std::vector<GlobalIdArray> global_ids_;
  std::vector<std::vector<int64_t>> boundaries_;
};

}  // namespace halograph

// In which task sets a node is the owner of a row: its class, by which nodes are spread evenly so
// that every partition gets its share of train, valid and test nodes.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

inline constexpr int kNumTaskClasses = 8;  // one bit each for train, valid, test

// Immutable. A node that owns several rows of a set counts once.
class TaskClasses {
 public:
  // Sets that `balance` leaves out count for nothing; without any no memory is taken.
  //   InvalidArgument  a task set that makes no sense (ResolveTaskColumns)
  [[nodiscard]] static StatusOr<TaskClasses> Of(const Dataset& dataset,
                                                const BalanceOptions& balance);
  // 0 to kNumTaskClasses - 1, of a union id.
  [[nodiscard]] int operator[](int64_t node) const {
    return classes_.size() == 0 ? 0 : classes_[node];
  }

 private:
  NodeArray<uint8_t> classes_;
};

}  // namespace halograph

// What the columns of a task set's seeds mean. Only this header knows which partition owns a row
// of a task. Pure functions.
#pragma once

#include <span>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

struct TaskColumns {
  std::vector<int> node_types;     // per column of "seeds": index of its node type
  int owner_column = 0;            // a row lives with this column's owner
  std::span<const int64_t> seeds;  // row-major [rows * node_types.size()], input ids
  int64_t rows = 0;

  [[nodiscard]] int owner_type() const { return node_types[static_cast<size_t>(owner_column)]; }
  [[nodiscard]] int64_t OwnerId(int64_t row) const {
    return seeds[static_cast<size_t>(row) * node_types.size() + static_cast<size_t>(owner_column)];
  }
};

// One column: node ids of the set's node type. Two: source and destination, owned by the second.
// More: owned by the first.
//   InvalidArgument  an unknown type; "seeds" missing or not int64; one column for a relation;
//                    more than two for a relation between different types (which column is of
//                    which type is unknown)
[[nodiscard]] StatusOr<TaskColumns> ResolveTaskColumns(const Dataset& dataset,
                                                       const InputTaskSet& set);

}  // namespace halograph

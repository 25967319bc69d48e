// Checks that task sets of every format must pass. Pure functions over mapped arrays.
#pragma once

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Sets `set->edges` from its type and checks its arrays against the dataset:
//   NotFound         the type is neither a node type nor a relation
//   InvalidArgument  arrays of different lengths; a relation's seeds that are no tuples
//   OutOfRange       a seed beyond its node count (file and position)
[[nodiscard]] Status ResolveTaskSet(const Dataset& dataset, InputTaskSet* set);

}  // namespace halograph

// Makes the schema of the output: that of the data set, with the counts after dropping. Pure
// function.
#pragma once

#include <cstdint>
#include <vector>

#include "common/graph/schema.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// `edge_counts`: per relation. Requires as many as there are relations.
[[nodiscard]] Schema BuildSchema(const Dataset& dataset, const std::vector<int64_t>& edge_counts);

}  // namespace halograph

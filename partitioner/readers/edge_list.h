// Reads edge lists as text or gzip, as SNAP publishes them: two integers per line, separated by
// blanks, tabs or commas. Further columns, blank lines and comments (`#`, `%`) are ignored.
#pragma once

#include <cstdint>
#include <filesystem>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// One node type and one relation; edge id = number of the edge line, from 0. With `num_nodes` >= 0
// ids are 0..num_nodes-1; else the nodes are the distinct ids that occur, in ascending order, and
// original_ids keeps them (null if they are 0..n-1 anyway).
// Memory: 9/64 byte for each id up to the largest (ids below 2^31), 8 bytes for each distinct id
// above that.
//   NotFound         no such file
//   InvalidArgument  a line that is not two integers, or a negative one (file:line); no edge at all
//                    and no num_nodes
//   OutOfRange       an id of num_nodes or more (file:line, id and count)
//   DataLoss         damaged gzip, or the file changed meanwhile
[[nodiscard]] StatusOr<Dataset> ReadEdgeList(const std::filesystem::path& path, int64_t num_nodes,
                                             Scratch* scratch);

}  // namespace halograph

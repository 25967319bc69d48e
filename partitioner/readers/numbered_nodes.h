// The nodes of formats that number them from 1: all that the file's size line counts.
#pragma once

#include <cstdint>
#include <filesystem>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// A graph of `nodes` nodes of original ids 1, 2, ... and one relation, whose edges are still to be
// set. `name`: that of the file without .gz and its last extension.
//   InvalidArgument    more nodes than kMaxNodes (`path`, count)
//   ResourceExhausted  no room for the list of ids
[[nodiscard]] StatusOr<Dataset> NumberedNodes(const std::filesystem::path& path, int64_t nodes,
                                              Scratch* scratch);

// The name of a data set of one file: the file's without .gz and its last extension.
[[nodiscard]] std::string FileTitle(const std::filesystem::path& path);

}  // namespace halograph

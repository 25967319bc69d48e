// Reads labels and split of an OGB raw folder as one task.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// Adds the task to `dataset`, whose node types are there already. Without split/ there is none.
// `split`: as ReadOgb. `typed`: the heterogeneous layout.
[[nodiscard]] Status ReadOgbTask(const std::filesystem::path& folder, const std::string& split,
                                 bool typed, Scratch* scratch, Dataset* dataset);

}  // namespace halograph

// Reads GraphBolt's on-disk dataset: a folder with metadata.yaml. The original description is
// read and preprocessed/ is ignored. Features and tasks that the description does not name are
// not read.
#pragma once

#include <filesystem>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/input_files.h"

namespace halograph {

// Types sorted, edge options not applied yet. Errors as OpenDataset.
[[nodiscard]] StatusOr<Dataset> ReadGraphBolt(const std::filesystem::path& folder,
                                              Scratch* scratch);

}  // namespace halograph

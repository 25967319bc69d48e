// GraphBolt's on-disk dataset: a folder with metadata.yaml. The raw description is read;
// preprocessed/ is ignored. What is not in the description (features, tasks) is not there.
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

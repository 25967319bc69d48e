// Which parts of a partition folder a machine has: it needs only its own.
#pragma once

#include <filesystem>
#include <vector>

#include "common/base/status.h"

namespace halograph {

// Ascending. NotFound: the folder, or any part in it, is missing; else as reading a folder fails.
[[nodiscard]] StatusOr<std::vector<int>> PartsPresent(const std::filesystem::path& graph);

}  // namespace halograph

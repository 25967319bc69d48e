// How fast this machine is at what partitioning is made of. Each takes a fraction of a second.
#pragma once

#include <cstdint>
#include <filesystem>

#include "common/base/status.h"

namespace halograph {

// Nanoseconds of an access to a random place of an array of `bytes`, many under way at once as in a
// pass over edges. The array is no larger than a part of the free memory, nor than 1 GiB.
[[nodiscard]] double RandomAccessNs(int64_t bytes);

// Bytes a second of writing a new file below `folder`, synced; the file is removed.
[[nodiscard]] StatusOr<double> WriteSpeed(const std::filesystem::path& folder);

}  // namespace halograph

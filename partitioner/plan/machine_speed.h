// How fast this machine is at what partitioning is made of. Each takes a fraction of a second.
#pragma once

#include <cstdint>
#include <filesystem>

#include "common/base/status.h"

namespace halograph {

// As METIS makes it, or asked for some accesses ahead as passes over edges do.
enum class Access { kAtOnce, kAskedAhead };

// Nanoseconds of an access to a random place of an array of `bytes`. The array is no larger than a
// part of the free memory, nor than 1 GiB.
[[nodiscard]] double RandomAccessNs(int64_t bytes, Access access);

// Bytes a second of writing a new file below `folder`, synced; the file is removed.
[[nodiscard]] StatusOr<double> WriteSpeed(const std::filesystem::path& folder);

}  // namespace halograph

// Rows beyond memory in RocksDB: a row a key, without its log and never synced, since the push log
// is the truth; with checksums and Bloom filters, in a block cache of a given size.
#pragma once

#include <filesystem>
#include <memory>

#include "common/state/env.h"

namespace halograph {

// As Env::OpenRowSpace.
[[nodiscard]] StatusOr<std::unique_ptr<RowSpace>> OpenRocksDbRows(
    const std::filesystem::path& folder, int64_t cache_bytes);
// As Env::RemoveRowSpace.
[[nodiscard]] Status RemoveRocksDbRows(const std::filesystem::path& folder);

}  // namespace halograph

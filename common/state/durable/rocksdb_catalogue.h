// A catalogue in RocksDB. Every write is synced; RocksDB's other settings are its defaults, since
// Debian's 7.8.3 lacks fixes of several others (manual_wal_flush, wal_bytes_per_sync, compression
// and tracking of its log).
#pragma once

#include <filesystem>
#include <memory>

#include "common/base/status.h"
#include "common/state/env.h"

namespace halograph {

// Made if it is missing.
//   FailedPrecondition  another process has it
//   DataLoss            it is damaged: RocksDB's words
//   ResourceExhausted   the disk is full
[[nodiscard]] StatusOr<std::unique_ptr<Catalogue>> OpenRocksDbCatalogue(
    const std::filesystem::path& folder);

}  // namespace halograph

// What RocksDB says: as a Status, and in the log of the process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <rocksdb/env.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include "common/base/status.h"

namespace halograph {

// `where`: the folder. ResourceExhausted: the disk is full; DataLoss: what was read is damaged;
// FailedPrecondition: another process, or this one, has the folder; else Internal.
[[nodiscard]] Status FromRocksDb(const rocksdb::Status& status, const std::string& where);

// For every use of RocksDB in place of the file LOG in its folder: Debian's 7.8 ends the process by
// an assertion when it writes to that file once more after a write that failed, as on a full disk.
// Warnings and errors come into the log of the process, at its debug level.
[[nodiscard]] std::shared_ptr<rocksdb::Logger> MakeRocksDbLogger();

[[nodiscard]] inline rocksdb::Slice SliceOf(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace halograph

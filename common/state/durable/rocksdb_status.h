// What RocksDB says, as a Status.
#pragma once

#include <string>
#include <string_view>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include "common/base/status.h"

namespace halograph {

// `where`: the folder. ResourceExhausted: the disk is full; DataLoss: what was read is damaged;
// FailedPrecondition: another process, or this one, has the folder; else Internal.
[[nodiscard]] Status FromRocksDb(const rocksdb::Status& status, const std::string& where);

[[nodiscard]] inline rocksdb::Slice SliceOf(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace halograph

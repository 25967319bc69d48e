#include "common/state/durable/rocksdb_status.h"

namespace halograph {

Status FromRocksDb(const rocksdb::Status& status, const std::string& where) {
  if (status.ok()) return OkStatus();
  const std::string message = where + ": RocksDB: " + status.ToString();
  if (status.IsNoSpace()) return ResourceExhausted("{}", message);
  if (status.IsCorruption()) return DataLoss("{}", message);
  // RocksDB's words for a LOCK file that another process, or this one, holds.
  const bool held = message.find("While lock file: ") != std::string::npos ||
                    message.find(": lock hold by ") != std::string::npos;
  if (status.IsIOError() && held) return FailedPrecondition("{}", message);
  return Internal("{}", message);
}

}  // namespace halograph

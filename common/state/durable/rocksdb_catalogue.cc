#include "common/state/durable/rocksdb_catalogue.h"

#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "common/state/durable/rocksdb_status.h"

namespace halograph {
namespace {

Status ToStatus(const rocksdb::Status& status, const std::string& folder) {
  const bool lost = status.IsCorruption() || status.IsPathNotFound();
  if (!lost) return FromRocksDb(status, folder);
  return DataLoss("{}: restore a copy of the whole state folder: RocksDB: {}", folder,
                  status.ToString());
}

}  // namespace

StatusOr<std::map<std::string, std::string>> ReadRocksDbCatalogue(
    const std::filesystem::path& folder) {
  // RocksDB would say that of a folder which never was its own, too.
  if (!std::filesystem::exists(folder / "CURRENT")) {
    return DataLoss("{}: CURRENT is missing: restore a copy of the whole state folder",
                    folder.string());
  }
  rocksdb::Options options;
  options.info_log = MakeRocksDbLogger();
  // Every write was synced: a damaged record before the last is damage, and not the end of the log.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, folder.string(), &opened);
  HG_RETURN_IF_ERROR(ToStatus(status, folder.string()));
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::map<std::string, std::string> entries;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    entries[at->key().ToString()] = at->value().ToString();
  }
  HG_RETURN_IF_ERROR(ToStatus(at->status(), folder.string()));
  return entries;
}

}  // namespace halograph

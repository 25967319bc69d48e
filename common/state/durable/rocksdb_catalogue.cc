#include "common/state/durable/rocksdb_catalogue.h"

#include <string>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

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

namespace {

class RocksDbCatalogue : public Catalogue {
 public:
  RocksDbCatalogue(std::unique_ptr<rocksdb::DB> db, std::string where)
      : db_(std::move(db)), where_(std::move(where)) {}

  [[nodiscard]] Status Write(std::span<const Change> changes) override {
    rocksdb::WriteBatch batch;
    for (const Change& change : changes) {
      const rocksdb::Status added = change.value.has_value() ? batch.Put(change.key, *change.value)
                                                             : batch.Delete(change.key);
      HG_RETURN_IF_ERROR(FromRocksDb(added, where_));
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    return FromRocksDb(db_->Write(options, &batch), where_);
  }

  [[nodiscard]] StatusOr<std::optional<std::string>> Get(std::string_view key) override {
    std::string value;
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), SliceOf(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    HG_RETURN_IF_ERROR(FromRocksDb(status, where_));
    return std::optional(std::move(value));
  }

  [[nodiscard]] StatusOr<std::vector<Entry>> Scan(std::string_view prefix) override {
    std::vector<Entry> entries;
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(rocksdb::ReadOptions()));
    for (at->Seek(SliceOf(prefix)); at->Valid() && at->key().starts_with(SliceOf(prefix));
         at->Next()) {
      entries.push_back({at->key().ToString(), at->value().ToString()});
    }
    HG_RETURN_IF_ERROR(FromRocksDb(at->status(), where_));
    return entries;
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::string where_;
};

}  // namespace

StatusOr<std::unique_ptr<Catalogue>> OpenRocksDbCatalogue(const std::filesystem::path& folder) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = size_t{4} << 20;  // a few kilobytes are in it
  options.keep_log_file_num = 2;
  options.max_background_jobs = 1;
  // Every write is synced: a damaged record before the last is damage, and not the end of the log.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(options, folder.string(), &db);
  HG_RETURN_IF_ERROR(FromRocksDb(opened, folder.string()));
  return std::make_unique<RocksDbCatalogue>(std::unique_ptr<rocksdb::DB>(db), folder.string());
}

}  // namespace halograph

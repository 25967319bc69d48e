#include "common/state/durable/rocksdb_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "common/base/units.h"
#include "common/state/durable/rocksdb_status.h"

namespace halograph {
namespace {

constexpr size_t kRowsAtATime = 1024;            // of a read
constexpr size_t kWriteBytes = size_t{1} << 20;  // of a write
constexpr size_t kMemtableBytes = size_t{32} << 20;
constexpr int kMemtables = 3;
constexpr double kBloomBits = 10;  // a row: one in a hundred that is not there costs a read

// Owner and row, big-endian: rows of an owner stand in their order.
class Key {
 public:
  Key() = default;
  Key(uint32_t owner, int64_t row) {
    for (size_t i = 0; i < 4; ++i) bytes_[i] = static_cast<char>(owner >> (24 - 8 * i));
    const auto bits = static_cast<uint64_t>(row);
    for (size_t i = 0; i < 8; ++i) bytes_[4 + i] = static_cast<char>(bits >> (56 - 8 * i));
  }
  [[nodiscard]] rocksdb::Slice slice() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, 12> bytes_ = {};
};

rocksdb::Options OptionsOf(int64_t cache_bytes) {
  rocksdb::Options options;
  options.info_log = MakeRocksDbLogger();
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.compression = rocksdb::kNoCompression;  // floats do not shrink
  options.write_buffer_size = kMemtableBytes;
  options.max_write_buffer_number = kMemtables;
  options.max_background_jobs = 2;
  options.avoid_flush_during_shutdown = true;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(static_cast<size_t>(cache_bytes));
  table.cache_index_and_filter_blocks = true;  // else they grow without bound
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBits));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

class RocksDbRows : public RowSpace {
 public:
  RocksDbRows(std::unique_ptr<rocksdb::DB> db, std::string where)
      : db_(std::move(db)), where_(std::move(where)) {
    unlogged_.disableWAL = true;
  }
  ~RocksDbRows() override {
    db_.reset();
    // What stays is removed when the next process opens the state.
    static_cast<void>(RemoveRocksDbRows(where_).ok());
  }

  [[nodiscard]] Status Put(uint32_t owner, std::span<const int64_t> rows,
                           std::span<const std::byte> images) override {
    if (rows.empty()) return OkStatus();
    const size_t bytes = images.size() / rows.size();
    rocksdb::WriteBatch batch;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto* const image = reinterpret_cast<const char*>(images.data() + i * bytes);
      HG_RETURN_IF_ERROR(
          FromRocksDb(batch.Put(Key(owner, rows[i]).slice(), {image, bytes}), where_));
      if (batch.GetDataSize() < kWriteBytes && i + 1 < rows.size()) continue;
      HG_RETURN_IF_ERROR(FromRocksDb(db_->Write(unlogged_, &batch), where_));
      batch.Clear();
    }
    return OkStatus();
  }

  [[nodiscard]] Status Get(uint32_t owner, std::span<const int64_t> rows,
                           std::span<std::byte> images, std::vector<bool>* found) override {
    found->assign(rows.size(), false);
    if (rows.empty()) return OkStatus();
    const size_t bytes = images.size() / rows.size();
    for (size_t first = 0; first < rows.size(); first += kRowsAtATime) {
      const size_t count = std::min(kRowsAtATime, rows.size() - first);
      HG_RETURN_IF_ERROR(GetSome(owner, rows.subspan(first, count),
                                 images.subspan(first * bytes, count * bytes), first, found));
    }
    return OkStatus();
  }

  [[nodiscard]] Status Drop(uint32_t owner) override {
    const Key begin(owner, 0);
    const Key end(owner + 1, 0);
    return FromRocksDb(
        db_->DeleteRange(unlogged_, db_->DefaultColumnFamily(), begin.slice(), end.slice()),
        where_);
  }

 private:
  Status GetSome(uint32_t owner, std::span<const int64_t> rows, std::span<std::byte> images,
                 size_t first, std::vector<bool>* found) {
    const size_t bytes = images.size() / rows.size();
    std::vector<Key> keys(rows.size());
    std::vector<rocksdb::Slice> slices(rows.size());
    std::vector<rocksdb::PinnableSlice> values(rows.size());
    std::vector<rocksdb::Status> statuses(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      keys[i] = Key(owner, rows[i]);
      slices[i] = keys[i].slice();
    }
    db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), rows.size(), slices.data(),
                  values.data(), statuses.data());
    for (size_t i = 0; i < rows.size(); ++i) {
      if (statuses[i].IsNotFound()) continue;
      HG_RETURN_IF_ERROR(FromRocksDb(statuses[i], where_));
      if (values[i].size() != bytes) {
        return DataLoss("{}: the image of row {} has {} bytes, not {}", where_, rows[i],
                        values[i].size(), bytes);
      }
      std::memcpy(images.data() + i * bytes, values[i].data(), bytes);
      (*found)[first + i] = true;
    }
    return OkStatus();
  }

  std::unique_ptr<rocksdb::DB> db_;
  const std::string where_;
  rocksdb::WriteOptions unlogged_;
};

}  // namespace

Status RemoveRocksDbRows(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return OkStatus();
  rocksdb::Options options;
  options.info_log = MakeRocksDbLogger();
  return FromRocksDb(rocksdb::DestroyDB(folder.string(), options), folder.string());
}

StatusOr<std::unique_ptr<RowSpace>> OpenRocksDbRows(const std::filesystem::path& folder,
                                                    int64_t cache_bytes) {
  const std::string where = folder.string();
  HG_RETURN_IF_ERROR(RemoveRocksDbRows(folder));
  rocksdb::DB* db = nullptr;
  const Status opened = FromRocksDb(rocksdb::DB::Open(OptionsOf(cache_bytes), where, &db), where);
  if (absl::IsResourceExhausted(opened)) {
    return ResourceExhausted("{}; rows that do not fit into memory need room there, at least {}",
                             Message(opened), FormatBytes(kMemtableBytes));
  }
  HG_RETURN_IF_ERROR(opened);
  return std::make_unique<RocksDbRows>(std::unique_ptr<rocksdb::DB>(db), where);
}

}  // namespace halograph

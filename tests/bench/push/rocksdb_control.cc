#include "tests/bench/push/rocksdb_control.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "common/state/durable/rocksdb_status.h"
#include "common/state/engine/rows/keyed_rows.h"
#include "tests/bench/rounds.h"

namespace halograph {
namespace {

constexpr size_t kKeyBytes = 8;
constexpr size_t kMemtableBytes = size_t{256} << 20;
constexpr size_t kCacheBytes = size_t{1} << 30;  // holds all rows of the usual workload
constexpr size_t kWriteBytes = size_t{1} << 20;
constexpr size_t kReadRows = 1024;
constexpr int kWarmUp = 2;

rocksdb::Options TunedOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.compaction_options_universal.max_size_amplification_percent = 400;
  options.use_direct_reads = true;
  options.use_direct_io_for_flush_and_compaction = true;
  options.write_buffer_size = kMemtableBytes;
  options.max_write_buffer_number = 3;
  options.max_background_jobs = 2;
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(kKeyBytes));
  options.memtable_prefix_bloom_size_ratio = 0.05;
  options.memtable_whole_key_filtering = true;
  // Rows come sorted: each goes in behind the one before it.
  options.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1));
  rocksdb::BlockBasedTableOptions table;
  table.index_type = rocksdb::BlockBasedTableOptions::kHashSearch;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.data_block_hash_table_util_ratio = 0.75;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_cache = rocksdb::NewLRUCache(kCacheBytes);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Big-endian: keys stand in the order of rows.
std::array<char, kKeyBytes> KeyOf(int64_t row) {
  std::array<char, kKeyBytes> key;
  for (size_t i = 0; i < kKeyBytes; ++i) {
    key[i] = static_cast<char>(static_cast<uint64_t>(row) >> (56 - 8 * i));
  }
  return key;
}

// Of one tensor.
class TunedRows : public RowSpace {
 public:
  TunedRows(std::unique_ptr<rocksdb::DB> db, std::string where)
      : db_(std::move(db)), where_(std::move(where)) {
    unlogged_.disableWAL = true;
  }

  [[nodiscard]] Status Put(uint32_t /*owner*/, std::span<const int64_t> rows,
                           std::span<const std::byte> images) override {
    const double begin = Now();
    const size_t bytes = images.size() / rows.size();
    rocksdb::WriteBatch batch;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto key = KeyOf(rows[i]);
      const auto* const image = reinterpret_cast<const char*>(images.data() + i * bytes);
      HG_RETURN_IF_ERROR(FromRocksDb(batch.Put({key.data(), key.size()}, {image, bytes}), where_));
      if (batch.GetDataSize() < kWriteBytes && i + 1 < rows.size()) continue;
      HG_RETURN_IF_ERROR(FromRocksDb(db_->Write(unlogged_, &batch), where_));
      batch.Clear();
    }
    put_seconds_ += Now() - begin;
    return OkStatus();
  }

  [[nodiscard]] Status Get(uint32_t /*owner*/, std::span<const int64_t> rows,
                           std::span<std::byte> images, std::vector<bool>* found) override {
    found->assign(rows.size(), true);
    const size_t bytes = images.size() / rows.size();
    for (size_t first = 0; first < rows.size(); first += kReadRows) {
      const size_t count = std::min(kReadRows, rows.size() - first);
      HG_RETURN_IF_ERROR(
          GetSome(rows.subspan(first, count), images.subspan(first * bytes, count * bytes)));
    }
    return OkStatus();
  }
  [[nodiscard]] Status Drop(uint32_t /*owner*/) override { return OkStatus(); }

  [[nodiscard]] double put_seconds() const { return put_seconds_; }

 private:
  Status GetSome(std::span<const int64_t> rows, std::span<std::byte> images) {
    const size_t bytes = images.size() / rows.size();
    std::vector<std::array<char, kKeyBytes>> keys;
    std::vector<rocksdb::Slice> slices;
    for (const int64_t row : rows) keys.push_back(KeyOf(row));
    for (const auto& key : keys) slices.emplace_back(key.data(), key.size());
    std::vector<rocksdb::PinnableSlice> values(rows.size());
    std::vector<rocksdb::Status> statuses(rows.size());
    db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), rows.size(), slices.data(),
                  values.data(), statuses.data(), /*sorted_input=*/true);
    for (size_t i = 0; i < rows.size(); ++i) {
      HG_RETURN_IF_ERROR(FromRocksDb(statuses[i], where_));
      if (values[i].size() != bytes) return DataLoss("{}: row {} is cut", where_, rows[i]);
      std::memcpy(images.data() + i * bytes, values[i].data(), bytes);
    }
    return OkStatus();
  }

  const std::unique_ptr<rocksdb::DB> db_;
  const std::string where_;
  rocksdb::WriteOptions unlogged_;
  double put_seconds_ = 0;
};

// A tensor of rows that all stand in `space`.
StatusOr<std::unique_ptr<KeyedRows>> MakeRows(const MutableTensorSpec& spec,
                                              std::shared_ptr<RowSpace> space) {
  Schema schema;
  schema.node_types = {{.name = "node", .count = 1, .features = {}}};
  HG_ASSIGN_OR_RETURN(const PartitionBook book, PartitionBook::Create(schema, {{0, 1}}, {}));
  HG_ASSIGN_OR_RETURN(std::shared_ptr<const RowPlacement> placement,
                      RowPlacement::Make(spec, schema, book));
  StateGraph graph;
  HG_ASSIGN_OR_RETURN(RowOrigins origins, RowOrigins::Make(spec, placement, {0, spec.rows}, graph));
  constexpr int64_t kWholePush = int64_t{128} << 20;
  return KeyedRows::Make(spec, std::move(origins), std::move(space), kWholePush);
}

}  // namespace

Status RocksDbRounds(const std::filesystem::path& folder, int rounds, const MutableTensorSpec& spec,
                     const std::vector<ReceivedRows>& pushes, Json* report) {
  const std::string where = (folder / "rocksdb").string();
  std::filesystem::create_directories(folder);
  HG_RETURN_IF_ERROR(FromRocksDb(rocksdb::DestroyDB(where, rocksdb::Options()), where));
  rocksdb::DB* db = nullptr;
  rocksdb::Options options = TunedOptions();
  rocksdb::Status opened = rocksdb::DB::Open(options, where, &db);
  if (opened.IsInvalidArgument() || opened.IsNotSupported()) {  // no direct reads on a tmpfs
    options.use_direct_reads = options.use_direct_io_for_flush_and_compaction = false;
    opened = rocksdb::DB::Open(options, where, &db);
  }
  HG_RETURN_IF_ERROR(FromRocksDb(opened, where));
  const auto space = std::make_shared<TunedRows>(std::unique_ptr<rocksdb::DB>(db), where);
  HG_ASSIGN_OR_RETURN(RowTable table, MakeBenchTable(spec));
  constexpr int64_t kLoaded = 10'000;
  std::vector<int64_t> rows;
  std::vector<std::byte> images;
  for (int64_t first = 0; first < spec.rows; first += kLoaded) {
    rows.clear();
    for (int64_t row = first; row < std::min(spec.rows, first + kLoaded); ++row) {
      rows.push_back(row);
    }
    images.resize(rows.size() * table.image_bytes());
    for (size_t i = 0; i < rows.size(); ++i) {
      table.SaveImage(rows[i], images.data() + i * table.image_bytes());
    }
    HG_RETURN_IF_ERROR(space->Put(0, rows, images));
  }
  HG_RETURN_IF_ERROR(FromRocksDb(db->Flush(rocksdb::FlushOptions()), where));
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<KeyedRows> keyed, MakeRows(spec, space));
  std::vector<double> memory_s, push_s, put_s;
  for (int round = -kWarmUp; round < rounds; ++round) {
    const PushedRows view = pushes[static_cast<size_t>(round + kWarmUp) % pushes.size()].view();
    const double begin = Now();
    table.ApplyGradients({&view, 1}, nullptr);
    const double updated = Now(), put_before = space->put_seconds();
    HG_RETURN_IF_ERROR(keyed->Apply(PushKind::kGradient, {&view, 1}).status());
    const double pushed = Now();
    if (round < 0) continue;
    memory_s.push_back(updated - begin);
    push_s.push_back(pushed - updated);
    put_s.push_back(space->put_seconds() - put_before);
  }
  (*report)["rocksdb_push_ms"] = 1e3 * Median(push_s);
  (*report)["rocksdb_put_ms"] = 1e3 * Median(put_s);
  (*report)["rocksdb_push_to_memory"] = Median(Ratios(memory_s, push_s));
  (*report)["rocksdb_put_to_memory"] = Median(Ratios(memory_s, put_s));
  return OkStatus();
}

}  // namespace halograph

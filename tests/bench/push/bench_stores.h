// Stores of one part for benchmarks, and who pushes to them as a server does: from memory on block
// boundaries.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/base/aligned_bytes.h"
#include "common/base/status.h"
#include "common/state/durable/system_env.h"
#include "common/state/row_table.h"
#include "common/state/state_store.h"
#include "tests/bench/measure.h"
#include "tests/bench/push/workload.h"

namespace halograph {

inline double Now() { return ClockSeconds(CLOCK_MONOTONIC); }

// Rows to push, as they come out of a message.
struct ReceivedRows {
  explicit ReceivedRows(RandomRows rows_in)
      : rows(std::move(rows_in.rows)), values(rows_in.values.size() * sizeof(float)) {
    std::memcpy(values.data(), rows_in.values.data(), values.size());
  }
  [[nodiscard]] PushedRows view() const { return {.rows = rows, .values = values.span()}; }

  std::vector<int64_t> rows;
  AlignedBytes values;
};

class BenchStores {
 public:
  explicit BenchStores(std::filesystem::path folder)
      : folder_(std::move(folder)), env_(MakeSystemEnv()) {
    schema_.node_types = {{.name = "node", .count = 1, .features = {}}};
    book_ = *PartitionBook::Create(schema_, {{0, 1}}, {});
  }

  // `fresh`: what was there is removed. No checkpoint is made but those that are asked for.
  [[nodiscard]] StatusOr<std::unique_ptr<StateStore>> Open(const std::string& name, SyncLevel sync,
                                                           bool fresh,
                                                           int64_t memory_bytes = int64_t{16}
                                                                                  << 30) const {
    StateOptions options;
    options.folder = folder_ / name;
    options.sync = sync;
    options.memory_bytes = memory_bytes;
    options.log_bytes = int64_t{8} << 30;
    if (fresh) std::filesystem::remove_all(options.folder);
    StateGraph graph;
    graph.identity = "bench";
    graph.schema = &schema_;
    graph.book = &book_;
    return StateStore::Open(options, graph, *env_);
  }

 private:
  const std::filesystem::path folder_;
  const std::unique_ptr<Env> env_;
  Schema schema_;
  PartitionBook book_;
};

// One client of a store. One thread.
class BenchClient {
 public:
  BenchClient(StateStore* store, uint64_t id, std::string tensor = "bench")
      : store_(store), id_(id), tensor_(std::move(tensor)) {}

  [[nodiscard]] Status Push(const ReceivedRows& rows) {
    StatePush request;
    request.push.tensor.name = tensor_;
    request.push.ids = rows.rows;
    request.push.rows = rows.values.span();
    request.id = {id_, ++sequence_};
    return store_->Push(request, {}).status();
  }

 private:
  StateStore* store_;
  uint64_t id_;
  std::string tensor_;
  uint64_t sequence_ = 0;
};

// A table of the same rows in memory, without a store.
[[nodiscard]] inline StatusOr<RowTable> MakeBenchTable(const MutableTensorSpec& spec) {
  HG_ASSIGN_OR_RETURN(RowTable table, RowTable::Make(spec, spec.rows));
  std::vector<int64_t> ids(static_cast<size_t>(spec.rows));
  std::iota(ids.begin(), ids.end(), 0);
  table.Initialize(0, ids, spec.rows, nullptr);
  return table;
}

}  // namespace halograph

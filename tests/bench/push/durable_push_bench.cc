// What it costs to make pushes durable: a push through the store, at each level of syncing, against
// the same update of a table in memory; then checkpoint, load and replay. Rounds take turns among
// the variants within one process; what counts is wall time, the median over rounds. The log's
// segments are used for the second time, as all are but those of a store's first minutes; "fresh"
// is the first time, when the kernel has to find memory for them. Prints one line of JSON. Run it
// under `taskset -c 0` for one core.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/base/build_info.h"
#include "common/state/durable/system_env.h"
#include "common/state/row_table.h"
#include "common/state/state_store.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/push/workload.h"
#include "tests/bench/rounds.h"

namespace halograph {
namespace {

struct Options : PushWorkload {
  std::filesystem::path folder;
  int rounds = 21;
  int replay_pushes = 40;  // 1 GiB of log
  bool skip_rounds = false;
  int64_t beyond_cache_bytes = 0;
};

double Now() { return ClockSeconds(CLOCK_MONOTONIC); }

// A store of one part, and pushes to it.
class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), env_(MakeSystemEnv()) {
    schema_.node_types = {{.name = "node", .count = 1, .features = {}}};
    book_ = *PartitionBook::Create(schema_, {{0, 1}}, {});
  }

  Status Run(Json* report);

 private:
  struct Opened {
    std::unique_ptr<StateStore> store;
    uint64_t sequence = 0;
    double seconds = 0;  // to open it
  };
  StatusOr<Opened> Open(const std::string& name, SyncLevel sync, bool fresh,
                        int64_t memory_bytes = int64_t{16} << 30);
  Status PushTo(Opened* opened, const RandomRows& rows);
  Status Rounds(const MutableTensorSpec& spec, Json* report);
  Status LevelRounds(const std::string& name, RowTable* table, Opened* store, Json* report);
  Status Recovery(const MutableTensorSpec& spec, Json* report);
  Status Meanwhile(const MutableTensorSpec& spec, Json* report);
  Status Beyond(const MutableTensorSpec& spec, Json* report);

  const Options& options_;
  const std::unique_ptr<Env> env_;
  Schema schema_;
  PartitionBook book_;
  std::vector<RandomRows> pushes_;
};

StatusOr<Bench::Opened> Bench::Open(const std::string& name, SyncLevel sync, bool fresh,
                                    int64_t memory_bytes) {
  StateOptions options;
  options.folder = options_.folder / name;
  options.sync = sync;
  options.memory_bytes = memory_bytes;
  options.log_bytes = int64_t{8} << 30;  // no checkpoint but those that are measured
  if (fresh) std::filesystem::remove_all(options.folder);
  StateGraph graph;
  graph.identity = "bench";
  graph.schema = &schema_;
  graph.book = &book_;
  Opened opened;
  const double begin = Now();
  HG_ASSIGN_OR_RETURN(opened.store, StateStore::Open(options, graph, *env_));
  opened.seconds = Now() - begin;
  return opened;
}

Status Bench::PushTo(Opened* opened, const RandomRows& rows) {
  PushRequest request;
  request.tensor.name = "bench";
  request.client = 1;
  request.sequence = ++opened->sequence;
  request.ids = rows.rows;
  request.rows = std::as_bytes(std::span(rows.values));
  return opened->store->Push(request, {}).status();
}

// The update in memory and a push take turns; the two levels do not disturb each other's disk.
Status Bench::Rounds(const MutableTensorSpec& spec, Json* report) {
  HG_ASSIGN_OR_RETURN(RowTable table, RowTable::Make(spec, spec.rows));
  std::vector<int64_t> ids(static_cast<size_t>(spec.rows));
  std::iota(ids.begin(), ids.end(), 0);
  table.Initialize(0, ids, spec.rows, nullptr);
  const std::vector<std::pair<std::string, SyncLevel>> levels = {{"interval", SyncLevel::kInterval},
                                                                 {"always", SyncLevel::kAlways}};
  for (const auto& [name, level] : levels) {
    HG_ASSIGN_OR_RETURN(Opened store, Open(name, level, true));
    HG_RETURN_IF_ERROR(store.store->Create(spec));
    HG_RETURN_IF_ERROR(LevelRounds("fresh_" + name, &table, &store, report));
    HG_RETURN_IF_ERROR(store.store->Checkpoint());  // frees the segments
    HG_RETURN_IF_ERROR(LevelRounds(name, &table, &store, report));
  }
  return OkStatus();
}

Status Bench::LevelRounds(const std::string& name, RowTable* table, Opened* store, Json* report) {
  std::vector<double> memory_s, push_s;
  for (int round = -4; round < options_.rounds; ++round) {  // the first ones warm up
    const RandomRows& push = pushes_[static_cast<size_t>(round + 4) % pushes_.size()];
    const PushedRows view = push.view();
    const double start = Now();
    table->ApplyGradients({&view, 1}, nullptr);
    const double updated = Now();
    HG_RETURN_IF_ERROR(PushTo(store, push));
    const double pushed = Now();
    if (round < 0) continue;
    memory_s.push_back(updated - start);
    push_s.push_back(pushed - updated);
  }
  (*report)[name + "_memory_ms"] = 1e3 * Median(memory_s);
  (*report)[name + "_ms"] = 1e3 * Median(push_s);
  (*report)[name + "_to_memory"] = Median(Ratios(memory_s, push_s));
  return OkStatus();
}

Status Bench::Recovery(const MutableTensorSpec& spec, Json* report) {
  std::vector<double> live_s;
  double image_bytes = 0;
  {
    HG_ASSIGN_OR_RETURN(Opened store, Open("recovery", SyncLevel::kInterval, true));
    HG_RETURN_IF_ERROR(store.store->Create(spec));
    // Touches every row.
    RandomRows all;
    for (int64_t row = 0; row < options_.rows;) {
      all.rows.clear();
      for (; row < options_.rows && static_cast<int64_t>(all.rows.size()) < options_.entries;
           ++row) {
        all.rows.push_back(row);
      }
      all.values.assign(all.rows.size() * static_cast<size_t>(options_.dim), 0.01f);
      HG_RETURN_IF_ERROR(PushTo(&store, all));
    }
    HG_ASSIGN_OR_RETURN(const RowTable one, RowTable::Make(spec, 1));
    image_bytes = static_cast<double>(one.image_bytes()) * static_cast<double>(options_.rows);
    const double begin = Now();
    HG_ASSIGN_OR_RETURN(const SnapshotInfo whole, store.store->Snapshot("all", {}, {}));
    (*report)["checkpoint_gb_per_s"] = 1e-9 * image_bytes / (Now() - begin);
    (*report)["checkpoint_bytes_to_images"] = static_cast<double>(whole.bytes) / image_bytes;
    for (int i = 0; i < options_.replay_pushes; ++i) {
      const double start = Now();
      HG_RETURN_IF_ERROR(PushTo(&store, pushes_[static_cast<size_t>(i) % pushes_.size()]));
      live_s.push_back(Now() - start);
    }
    (*report)["log_bytes"] = store.store->stats().log_bytes;
  }
  std::vector<double> opened_s;
  for (int i = 0; i < 3; ++i) {
    HG_ASSIGN_OR_RETURN(const Opened again, Open("recovery", SyncLevel::kInterval, false));
    opened_s.push_back(again.seconds);
    (*report)["replayed_pushes"] = again.store->stats().replayed_pushes;
  }
  {
    HG_ASSIGN_OR_RETURN(const Opened store, Open("recovery", SyncLevel::kInterval, false));
    HG_RETURN_IF_ERROR(store.store->Checkpoint());
  }
  std::vector<double> loaded_s;
  for (int i = 0; i < 3; ++i) {
    HG_ASSIGN_OR_RETURN(const Opened again, Open("recovery", SyncLevel::kInterval, false));
    loaded_s.push_back(again.seconds);
  }
  const double replay_s = (Median(opened_s) - Median(loaded_s)) / options_.replay_pushes;
  (*report)["recovery_s"] = Median(opened_s);
  (*report)["load_s"] = Median(loaded_s);
  (*report)["live_push_ms"] = 1e3 * Median(live_s);
  (*report)["replay_push_ms"] = 1e3 * replay_s;
  (*report)["replay_to_live"] = Median(live_s) / replay_s;
  return OkStatus();
}

// Small pushes, alone and while snapshots of all rows are written.
Status Bench::Meanwhile(const MutableTensorSpec& spec, Json* report) {
  HG_ASSIGN_OR_RETURN(Opened store, Open("meanwhile", SyncLevel::kInterval, true));
  HG_RETURN_IF_ERROR(store.store->Create(spec));
  PushWorkload small = options_;
  small.entries = 1000;
  const RandomRows push = MakeRandomRows(small, 99);
  const auto p99 = [&](const std::function<bool()>& more) -> StatusOr<double> {
    std::vector<double> seconds;
    while (more() || seconds.size() < 200) {
      const double start = Now();
      HG_RETURN_IF_ERROR(PushTo(&store, push));
      seconds.push_back(Now() - start);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() * 99 / 100];
  };
  for (const RandomRows& rows : pushes_) HG_RETURN_IF_ERROR(PushTo(&store, rows));
  HG_ASSIGN_OR_RETURN(const double alone, p99([n = 0]() mutable { return n++ < 1000; }));
  std::atomic<bool> done = false;
  Status snapshots = OkStatus();
  std::thread other([&] {
    for (int i = 0; i < 5 && snapshots.ok(); ++i) {
      const std::string name = std::to_string(i);
      snapshots = store.store->Snapshot(name, {}, {}).status();
    }
    done = true;
  });
  const StatusOr<double> meanwhile = p99([&] { return !done.load(); });
  other.join();
  HG_RETURN_IF_ERROR(snapshots);
  HG_RETURN_IF_ERROR(meanwhile.status());
  (*report)["p99_alone_ms"] = 1e3 * alone;
  (*report)["p99_meanwhile_ms"] = 1e3 * *meanwhile;
  return OkStatus();
}

// The same pushes with the rows beyond memory: a row a key in RocksDB, once the rows are there.
Status Bench::Beyond(const MutableTensorSpec& spec, Json* report) {
  HG_ASSIGN_OR_RETURN(RowTable table, RowTable::Make(spec, spec.rows));
  std::vector<int64_t> ids(static_cast<size_t>(spec.rows));
  std::iota(ids.begin(), ids.end(), 0);
  table.Initialize(0, ids, spec.rows, nullptr);
  const int64_t memory = 3 * spec.rows / 8 + 2 * options_.beyond_cache_bytes;
  HG_ASSIGN_OR_RETURN(Opened store, Open("beyond", SyncLevel::kInterval, true, memory));
  HG_RETURN_IF_ERROR(store.store->Create(spec));
  HG_RETURN_IF_ERROR(LevelRounds("beyond_memory", &table, &store, report));
  std::vector<std::byte> pulled(pushes_[0].rows.size() * RowBytes(spec.dtype, spec.dim));
  const double start = Now();
  HG_RETURN_IF_ERROR(store.store->Pull(spec.ref, pushes_[0].rows, {}, 0, pulled.data(), {}));
  (*report)["beyond_memory_pull_ms"] = 1e3 * (Now() - start);
  return OkStatus();
}

Status Bench::Run(Json* report) {
  HG_ASSIGN_OR_RETURN(const MutableTensorSpec spec, BenchTensor(options_));
  for (uint64_t i = 0; i < 4; ++i) pushes_.push_back(MakeRandomRows(options_, i));
  *report = {{"bench", "durable_push"},     {"build", BuildVersion()},
             {"machine", CpuModel()},       {"rows", options_.rows},
             {"entries", options_.entries}, {"dim", options_.dim},
             {"dtype", options_.dtype},     {"optimizer", options_.optimizer},
             {"rounds", options_.rounds},   {"folder", options_.folder.string()}};
  if (!options_.skip_rounds) HG_RETURN_IF_ERROR(Rounds(spec, report));
  if (options_.beyond_cache_bytes > 0) HG_RETURN_IF_ERROR(Beyond(spec, report));
  if (options_.replay_pushes > 0) {
    HG_RETURN_IF_ERROR(Recovery(spec, report));
    HG_RETURN_IF_ERROR(Meanwhile(spec, report));
  }
  std::filesystem::remove_all(options_.folder);
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  halograph::Options options;
  CLI::App app("Pushes through the store, against the same update in memory");
  app.option_defaults()->always_capture_default();
  app.add_option("--folder", options.folder, "of the states; made, and removed at the end")
      ->required();
  app.add_option("--rows", options.rows, "of the tensor")->check(CLI::PositiveNumber);
  app.add_option("--entries", options.entries, "of a push")->check(CLI::PositiveNumber);
  app.add_option("--dim", options.dim)->check(CLI::PositiveNumber);
  app.add_option("--dtype", options.dtype, "of rows: float32, float16, bfloat16");
  app.add_option("--optimizer", options.optimizer)
      ->check(CLI::IsMember(halograph::BenchOptimizers()));
  app.add_option("--rounds", options.rounds, "of live pushes")->check(CLI::Range(1, 100'000));
  app.add_option("--replay-pushes", options.replay_pushes, "in the log that is replayed; 0: none")
      ->check(CLI::Range(0, 100'000));
  app.add_flag("--skip-rounds", options.skip_rounds, "recovery only");
  app.add_option("--beyond-cache-bytes", options.beyond_cache_bytes,
                 "pushes to rows beyond memory too, behind a cache of so many bytes; 0: none")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  halograph::Json report;
  const halograph::Status status = halograph::Bench(options).Run(&report);
  if (status.ok()) {
    fmt::print("{}\n", halograph::CanonicalJson(report));
    return 0;
  }
  fmt::print(stderr, "{}\n", halograph::ToString(status));
  return 1;
}

// What it costs to make pushes durable: a push through the store, at each level of syncing, against
// the same update of a table in memory; then checkpoint, load and replay, pushes while snapshots
// are written, and a control (--sections: what is measured). Rounds take turns among the variants
// within one process; what counts is wall time, the median over rounds. The log's segments are used
// for the second time, as all are but those of a store's first minutes; "fresh" is the first time,
// when the kernel has to find memory for them. Prints one line of JSON. Run it under `taskset -c 0`
// for one core.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/build_info.h"
#include "common/program/program.h"
#include "common/state/row_layout.h"
#include "common/state/row_table.h"
#include "common/state/state_store.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/push/bench_stores.h"
#include "tests/bench/push/many_clients.h"
#include "tests/bench/push/rocksdb_control.h"
#include "tests/bench/rounds.h"

namespace halograph {
namespace {

struct Options : PushWorkload {
  std::filesystem::path folder;
  int rounds = 21;
  int replay_pushes = 40;  // 1 GiB of log
  std::vector<std::string> sections;
  int64_t beyond_cache_bytes = int64_t{64} << 20;
};

// What is measured, in this order.
const std::vector<std::string>& Sections() {
  static const std::vector<std::string> sections = {"rounds",   "all-cores", "always", "rocksdb",
                                                    "recovery", "meanwhile", "beyond"};
  return sections;
}
// Without those that take minutes.
const std::vector<std::string>& UsualSections() {
  static const std::vector<std::string> sections = {"rounds", "recovery", "meanwhile"};
  return sections;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), stores_(options.folder) {}

  Status Run(Json* report);

 private:
  using StorePtr = std::unique_ptr<StateStore>;

  [[nodiscard]] ManyClients Many() const {
    return {.folder = options_.folder, .rounds = options_.rounds};
  }
  Status Rounds(const MutableTensorSpec& spec, Json* report);
  Status LevelRounds(const std::string& name, RowTable* table, BenchClient* client, Json* report);
  Status Recovery(const MutableTensorSpec& spec, Json* report);
  Status Increment(StateStore* store, BenchClient* client, const MutableTensorSpec& spec,
                   Json* report);
  Status Meanwhile(const MutableTensorSpec& spec, Json* report);
  Status Beyond(const MutableTensorSpec& spec, Json* report);

  const Options& options_;
  const BenchStores stores_;
  std::vector<ReceivedRows> pushes_;
};

// The update in memory and a push take turns; the two levels do not disturb each other's disk.
Status Bench::Rounds(const MutableTensorSpec& spec, Json* report) {
  HG_ASSIGN_OR_RETURN(RowTable table, MakeBenchTable(spec));
  const std::vector<std::pair<std::string, SyncLevel>> levels = {{"interval", SyncLevel::kInterval},
                                                                 {"always", SyncLevel::kAlways}};
  for (const auto& [name, level] : levels) {
    HG_ASSIGN_OR_RETURN(const StorePtr store, stores_.Open(name, level, true));
    HG_RETURN_IF_ERROR(store->Create(spec));
    BenchClient client(store.get(), 1);
    HG_RETURN_IF_ERROR(LevelRounds("fresh_" + name, &table, &client, report));
    HG_RETURN_IF_ERROR(store->Checkpoint());  // frees the segments
    HG_RETURN_IF_ERROR(LevelRounds(name, &table, &client, report));
  }
  return OkStatus();
}

Status Bench::LevelRounds(const std::string& name, RowTable* table, BenchClient* client,
                          Json* report) {
  std::vector<double> memory_s, push_s;
  for (int round = -4; round < options_.rounds; ++round) {  // the first ones warm up
    const ReceivedRows& push = pushes_[static_cast<size_t>(round + 4) % pushes_.size()];
    const PushedRows view = push.view();
    const double start = Now();
    table->ApplyGradients({&view, 1}, nullptr);
    const double updated = Now();
    HG_RETURN_IF_ERROR(client->Push(push));
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
    HG_ASSIGN_OR_RETURN(const StorePtr store, stores_.Open("recovery", SyncLevel::kInterval, true));
    HG_RETURN_IF_ERROR(store->Create(spec));
    BenchClient client(store.get(), 1);
    // Touches every row.
    for (int64_t row = 0; row < options_.rows;) {
      RandomRows all;
      for (; row < options_.rows && static_cast<int64_t>(all.rows.size()) < options_.entries;
           ++row) {
        all.rows.push_back(row);
      }
      all.values.assign(all.rows.size() * static_cast<size_t>(options_.dim), 0.01f);
      HG_RETURN_IF_ERROR(client.Push(ReceivedRows(std::move(all))));
    }
    image_bytes =
        static_cast<double>(RowLayout::Of(spec).image_bytes()) * static_cast<double>(options_.rows);
    const double begin = Now();
    HG_ASSIGN_OR_RETURN(const SnapshotInfo whole, store->Snapshot("all", {}, {}));
    (*report)["checkpoint_gb_per_s"] = 1e-9 * image_bytes / (Now() - begin);
    (*report)["checkpoint_bytes_to_images"] = static_cast<double>(whole.bytes) / image_bytes;
    for (int i = 0; i < options_.replay_pushes; ++i) {
      const double start = Now();
      HG_RETURN_IF_ERROR(client.Push(pushes_[static_cast<size_t>(i) % pushes_.size()]));
      live_s.push_back(Now() - start);
    }
    (*report)["log_bytes"] = store->stats().log_bytes;
  }
  const auto median_of_opening = [&]() -> StatusOr<double> {
    std::vector<double> seconds;
    for (int i = 0; i < 3; ++i) {
      const double begin = Now();
      HG_ASSIGN_OR_RETURN(const StorePtr again,
                          stores_.Open("recovery", SyncLevel::kInterval, false));
      seconds.push_back(Now() - begin);
      (*report)["replayed_pushes"] = again->stats().replayed_pushes;
    }
    return Median(seconds);
  };
  HG_ASSIGN_OR_RETURN(const double opened_s, median_of_opening());
  const Json replayed = (*report)["replayed_pushes"];
  {
    HG_ASSIGN_OR_RETURN(const StorePtr store,
                        stores_.Open("recovery", SyncLevel::kInterval, false));
    HG_RETURN_IF_ERROR(store->Checkpoint());
  }
  HG_ASSIGN_OR_RETURN(const double loaded_s, median_of_opening());
  (*report)["replayed_pushes"] = replayed;
  const double replay_s = (opened_s - loaded_s) / options_.replay_pushes;
  (*report)["recovery_s"] = opened_s;
  (*report)["load_s"] = loaded_s;
  (*report)["load_gb_per_s"] = 1e-9 * image_bytes / loaded_s;
  (*report)["live_push_ms"] = 1e3 * Median(live_s);
  (*report)["replay_push_ms"] = 1e3 * replay_s;
  (*report)["replay_to_live"] = Median(live_s) / replay_s;
  return OkStatus();
}

double Percentile(std::vector<double> values, size_t percent) {
  std::sort(values.begin(), values.end());
  return values[values.size() * percent / 100];
}

// The bytes of a snapshot of the rows that one large push touched, against their images.
Status Bench::Increment(StateStore* store, BenchClient* client, const MutableTensorSpec& spec,
                        Json* report) {
  HG_RETURN_IF_ERROR(store->Snapshot("base", {}, {}).status());
  HG_RETURN_IF_ERROR(client->Push(pushes_[0]));
  HG_ASSIGN_OR_RETURN(const SnapshotInfo touched, store->Snapshot("touched", {}, {}));
  const std::set<int64_t> rows(pushes_[0].rows.begin(), pushes_[0].rows.end());
  const double images =
      static_cast<double>(RowLayout::Of(spec).image_bytes()) * static_cast<double>(rows.size());
  (*report)["increment_rows"] = rows.size();
  (*report)["increment_bytes_to_images"] = static_cast<double>(touched.bytes) / images;
  return OkStatus();
}

// Small pushes, by turns alone and while an incremental snapshot is written: of the rows that one
// large push and the small ones before it touched.
Status Bench::Meanwhile(const MutableTensorSpec& spec, Json* report) {
  constexpr int kSnapshots = 12;
  constexpr int kBetween = 200;  // before each of them
  constexpr size_t kSmallPushes = 16;
  HG_ASSIGN_OR_RETURN(const StorePtr store, stores_.Open("meanwhile", SyncLevel::kInterval, true));
  HG_RETURN_IF_ERROR(store->Create(spec));
  PushWorkload small = options_;
  small.entries = std::max<int64_t>(1, options_.entries / 100);
  std::vector<ReceivedRows> some;
  for (uint64_t i = 0; i < kSmallPushes; ++i) some.emplace_back(MakeRandomRows(small, 99 + i));
  BenchClient client(store.get(), 1);
  size_t next = 0;
  const auto push_small = [&](std::vector<double>* seconds) -> Status {
    const double start = Now();
    HG_RETURN_IF_ERROR(client.Push(some[next++ % some.size()]));
    seconds->push_back(Now() - start);
    return OkStatus();
  };
  for (const ReceivedRows& rows : pushes_) HG_RETURN_IF_ERROR(client.Push(rows));
  HG_RETURN_IF_ERROR(Increment(store.get(), &client, spec, report));
  double bytes = 0;
  std::vector<double> between, meanwhile;
  for (int i = 0; i < kSnapshots; ++i) {
    HG_RETURN_IF_ERROR(client.Push(pushes_[static_cast<size_t>(i) % pushes_.size()]));
    for (int k = 0; k < kBetween; ++k) HG_RETURN_IF_ERROR(push_small(&between));
    std::atomic<bool> done = false;
    StatusOr<SnapshotInfo> made = SnapshotInfo{};
    Status pushed;
    {
      const std::jthread other([&] {
        made = store->Snapshot(std::to_string(i), {}, {});
        done = true;
      });
      while (!done && pushed.ok()) pushed = push_small(&meanwhile);
    }
    HG_RETURN_IF_ERROR(made.status());
    HG_RETURN_IF_ERROR(pushed);
    bytes += static_cast<double>(made->bytes);
  }
  if (meanwhile.size() < 100) return FailedPrecondition("{} pushes meanwhile", meanwhile.size());
  (*report)["meanwhile_pushes"] = meanwhile.size();
  (*report)["meanwhile_snapshot_mb"] = 1e-6 * bytes / kSnapshots;
  for (const size_t percent : {50, 99}) {
    (*report)[fmt::format("p{}_between_ms", percent)] = 1e3 * Percentile(between, percent);
    (*report)[fmt::format("p{}_meanwhile_ms", percent)] = 1e3 * Percentile(meanwhile, percent);
  }
  (*report)["p99_meanwhile_to_between"] = Percentile(meanwhile, 99) / Percentile(between, 99);
  return OkStatus();
}

// The same pushes with the rows beyond memory: a row a key in RocksDB, once the rows are there.
Status Bench::Beyond(const MutableTensorSpec& spec, Json* report) {
  HG_ASSIGN_OR_RETURN(RowTable table, MakeBenchTable(spec));
  const int64_t memory = 3 * spec.rows / 8 + 2 * options_.beyond_cache_bytes;
  HG_ASSIGN_OR_RETURN(const StorePtr store,
                      stores_.Open("beyond", SyncLevel::kInterval, true, memory));
  HG_RETURN_IF_ERROR(store->Create(spec));
  BenchClient client(store.get(), 1);
  HG_RETURN_IF_ERROR(LevelRounds("beyond_memory", &table, &client, report));
  std::vector<std::byte> pulled(pushes_[0].rows.size() * RowBytes(spec.dtype, spec.dim));
  const double start = Now();
  HG_RETURN_IF_ERROR(store->Pull(spec.ref, pushes_[0].rows, {}, 0, pulled.data(), {}));
  (*report)["beyond_memory_pull_ms"] = 1e3 * (Now() - start);
  return OkStatus();
}

Status Bench::Run(Json* report) {
  HG_ASSIGN_OR_RETURN(const MutableTensorSpec spec, BenchTensor(options_));
  for (uint64_t i = 0; i < 4; ++i) pushes_.emplace_back(MakeRandomRows(options_, i));
  *report = {{"bench", "durable_push"},     {"build", BuildVersion()},
             {"machine", CpuModel()},       {"rows", options_.rows},
             {"entries", options_.entries}, {"dim", options_.dim},
             {"dtype", options_.dtype},     {"optimizer", options_.optimizer},
             {"rounds", options_.rounds},   {"folder", options_.folder.string()}};
  const auto measure = [&](const std::string& section) -> Status {
    if (section == "rounds") return Rounds(spec, report);
    if (section == "all-cores") return AllCoresRounds(Many(), spec, pushes_, report);
    if (section == "always") return AlwaysRounds(Many(), spec, pushes_, report);
    if (options_.replay_pushes == 0 && (section == "recovery" || section == "meanwhile")) {
      return OkStatus();
    }
    if (section == "recovery") return Recovery(spec, report);
    if (section == "meanwhile") return Meanwhile(spec, report);
    if (section == "beyond") return Beyond(spec, report);
    return RocksDbRounds(options_.folder, options_.rounds, spec, pushes_, report);
  };
  for (const std::string& section : Sections()) {
    const auto& asked = options_.sections;
    if (std::find(asked.begin(), asked.end(), section) == asked.end()) continue;
    HG_RETURN_IF_ERROR(Annotate(measure(section), section));
    std::filesystem::remove_all(options_.folder);  // of this section
  }
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("durable_push_bench",
                  "Pushes through the store, against the same update in memory");
  Options options;
  OptionTable& rows = program.options();
  rows.Add("folder", &options.folder, "of the states; made, and removed at the end")
      .Required()
      .ValueName("FOLDER");
  AddWorkloadRows(rows, &options);
  rows.Add("rounds", &options.rounds, "of live pushes").Range(1, 100'000);
  rows.Add("replay-pushes", &options.replay_pushes,
           "in the log that is replayed; 0: neither recovery nor meanwhile")
      .Range(0, 100'000);
  options.sections = UsualSections();
  rows.Add("sections", &options.sections, "what is measured").OneOf(Sections());
  rows.Add("beyond-cache-bytes", &options.beyond_cache_bytes,
           "of the cache before rows beyond memory")
      .AtLeast(1);
  program.Run([&]() -> Status {
    Json report;
    HG_RETURN_IF_ERROR(Bench(options).Run(&report));
    fmt::print("{}\n", CanonicalJson(report));
    return OkStatus();
  });
  return program.Main(argc, argv);
}

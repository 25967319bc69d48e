// What a push over the network costs against a pull of the same bytes: gradients of random rows to
// one server over loopback, and rows of as many ids from it, in turns in one process. And what a
// step of learnable inputs (a pull, then a synchronous push) costs that are of four tensors against
// one, of as many rows together.
//   push_calls_bench SERVER_PROGRAM STATE_FOLDER [ROUNDS [ROWS [ENTRIES [SYNC]]]]
// Writes a graph of ROWS nodes without features, serves it by SERVER_PROGRAM with its state in
// STATE_FOLDER at --sync SYNC (interval), creates tensors of 64 float32 with Adagrad, and pushes to
// and pulls from ENTRIES random rows. The rounds that count write segments of the log for the
// second time. Prints one JSON line.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "client/open/open_stores.h"
#include "common/base/build_info.h"
#include "common/base/kept_memory.h"
#include "common/base/stopwatch.h"
#include "common/storage/file.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/pull/child_process.h"
#include "tests/bench/push/workload.h"
#include "tests/bench/rounds.h"
#include "tests/support/graph_fixture.h"

namespace halograph {
namespace {

constexpr int kWarmUpRounds = 4;
constexpr int kTypes = 4;

StatusOr<std::filesystem::path> WriteGraph(const std::filesystem::path& folder, int64_t nodes) {
  TestGraphSpec spec;
  spec.node_types = {
      {.name = "node", .owners = std::vector<int>(static_cast<size_t>(nodes), 0), .features = {}}};
  spec.relations = {
      {.source = "node", .name = "edge", .destination = "node", .edges = {{0, 1}}, .features = {}}};
  return WriteTestGraph(spec, folder / "graph");
}

MutableTensorSpec Embedding(const PushWorkload& workload) {
  MutableTensorSpec spec;
  spec.ref = {false, "node", "bench"};
  spec.dim = workload.dim;
  spec.initializer.kind = Initializer::Kind::kUniform;
  spec.initializer.a = -0.1;
  spec.initializer.b = 0.1;
  spec.optimizer = BenchOptimizers().at(workload.optimizer);
  return spec;
}

class Bench {
 public:
  Bench(Stores stores, const PushWorkload& workload)
      : stores_(std::move(stores)), spec_(Embedding(workload)) {
    for (uint64_t i = 0; i < 4; ++i) pushes_.push_back(MakeRandomRows(workload, i));
    out_.resize(pushes_[0].values.size() * sizeof(float));
  }

  [[nodiscard]] Status Create() {
    CallContext context;
    for (int i = 0; i <= kTypes + 1; ++i) {
      HG_RETURN_IF_ERROR(stores_.admin->Create(SpecOf(i), context));
    }
    return OkStatus();
  }
  [[nodiscard]] Status Free() {  // the segments of the log
    CallContext context;
    return stores_.admin->Snapshot(fmt::format("s{}", ++snapshots_), std::nullopt, context);
  }
  [[nodiscard]] StatusOr<double> Push(int round) {
    const RandomRows& rows = RowsOf(round);
    const Stopwatch watch;
    CallContext context;
    const RowPush push{
        .tensor = spec_.ref, .ids = rows.rows, .rows = std::as_bytes(std::span(rows.values))};
    HG_RETURN_IF_ERROR(stores_.rows->Push({&push, 1}, context).status());
    return watch.Seconds();
  }
  [[nodiscard]] StatusOr<double> Pull(int round) {
    const Stopwatch watch;
    CallContext context;
    const RowRequest request{.tensor = spec_.ref, .ids = RowsOf(round).rows, .out = out_};
    HG_RETURN_IF_ERROR(stores_.rows->Pull(request, context));
    return watch.Seconds();
  }
  // A step of learnable inputs, of one tensor or of kTypes.
  [[nodiscard]] StatusOr<double> Step(int round, int types) {
    const RandomRows& rows = RowsOf(round);
    const size_t count = rows.rows.size() / static_cast<size_t>(types);
    const size_t row = rows.values.size() / rows.rows.size();
    std::vector<RowRequest> requests;
    std::vector<RowPush> pushes;
    for (size_t i = 0; i < static_cast<size_t>(types); ++i) {
      const TensorRef ref = SpecOf(types == 1 ? kTypes + 1 : static_cast<int>(i) + 1).ref;
      const auto ids = std::span(rows.rows).subspan(i * count, count);
      const size_t bytes = row * sizeof(float);
      requests.push_back({.tensor = ref,
                          .ids = ids,
                          .out = std::span(out_).subspan(i * count * bytes, count * bytes)});
      pushes.push_back(
          {.tensor = ref,
           .step = SyncStep{.step = round + kWarmUpRounds, .run = 1},
           .ids = ids,
           .rows = std::as_bytes(std::span(rows.values).subspan(i * count * row, count * row))});
    }
    const Stopwatch watch;
    CallContext context;
    HG_RETURN_IF_ERROR(stores_.rows->Pull(requests, context));
    HG_RETURN_IF_ERROR(stores_.rows->Push(pushes, context).status());
    return watch.Seconds();
  }

 private:
  // 0: of single pushes; 1 to kTypes: of a step of several; then of a step of one.
  [[nodiscard]] MutableTensorSpec SpecOf(int number) const {
    MutableTensorSpec spec = spec_;
    if (number > 0) spec.ref.name += std::to_string(number);
    return spec;
  }
  const RandomRows& RowsOf(int round) const {
    return pushes_[static_cast<size_t>(round + kWarmUpRounds) % pushes_.size()];
  }

  Stores stores_;
  const MutableTensorSpec spec_;
  std::vector<RandomRows> pushes_;
  std::vector<std::byte> out_;
  int snapshots_ = 0;
};

Status Run(const std::string& server_program, const std::filesystem::path& state, int rounds,
           const PushWorkload& workload, const std::string& sync) {
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder,
                      TemporaryFolder::Create(std::filesystem::temp_directory_path() /
                                              "halograph-push-calls-bench"));
  HG_ASSIGN_OR_RETURN(const std::filesystem::path graph, WriteGraph(folder.path(), workload.rows));
  std::filesystem::remove_all(state);
  const ChildProcess server({server_program, "--graph", graph.string(), "--part", "all", "--state",
                             state.string(), "--sync", sync, "--state-memory", "4GiB", "--listen",
                             "127.0.0.1:0"});
  if (server.address().empty()) return FailedPrecondition("{} did not start", server_program);
  RemoteOptions options;
  options.servers = {server.address()};
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenStores({.remote = options}));
  Bench bench(stores, workload);
  HG_RETURN_IF_ERROR(bench.Create());
  std::vector<double> push_s, pull_s, one_s, several_s;
  for (int round = -kWarmUpRounds; round < rounds; ++round) {
    HG_ASSIGN_OR_RETURN(const double pushed, bench.Push(round));
    HG_ASSIGN_OR_RETURN(const double pulled, bench.Pull(round));
    HG_ASSIGN_OR_RETURN(const double one, bench.Step(round, 1));
    HG_ASSIGN_OR_RETURN(const double several, bench.Step(round, kTypes));
    if (round == -1) HG_RETURN_IF_ERROR(bench.Free());
    if (round < 0) continue;
    one_s.push_back(one);
    several_s.push_back(several);
    push_s.push_back(pushed);
    pull_s.push_back(pulled);
  }
  const Json report = {{"bench", "push_calls"},
                       {"cpu", CpuModel()},
                       {"build", BuildVersion()},
                       {"rows", workload.rows},
                       {"entries", workload.entries},
                       {"dim", workload.dim},
                       {"rounds", rounds},
                       {"push_ms", 1e3 * Median(push_s)},
                       {"pull_ms", 1e3 * Median(pull_s)},
                       {"push_to_pull", Median(Ratios(pull_s, push_s))},
                       {"sync", sync},
                       {"step_ms", 1e3 * Median(one_s)},
                       {"step_of_4_types_ms", 1e3 * Median(several_s)},
                       {"step_of_4_types_to_1", Median(Ratios(several_s, one_s))}};
  fmt::print("{}\n", report.dump());
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr,
               "usage: push_calls_bench SERVER_PROGRAM STATE_FOLDER [ROUNDS [ROWS "
               "[ENTRIES [SYNC]]]]\n");
    return 2;
  }
  halograph::KeepFreedMemory(halograph::kFreedBytesOfATrainer);
  halograph::PushWorkload workload;
  const int rounds = argc > 3 ? std::stoi(argv[3]) : 15;
  if (argc > 4) workload.rows = std::stoll(argv[4]);
  if (argc > 5) workload.entries = std::stoll(argv[5]);
  const halograph::Status status =
      halograph::Run(argv[1], argv[2], rounds, workload, argc > 6 ? argv[6] : "interval");
  std::filesystem::remove_all(argv[2]);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", halograph::ToString(status));
  return 1;
}

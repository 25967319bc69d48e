// Remote pull against bare byte buffers of the same sizes, over as many channels and outstanding
// calls, in the same run, in turns.
//   pull_bench SERVER_PROGRAM [ROUNDS]
// Writes a graph of 200,000 nodes with 100 float32 each, serves it by SERVER_PROGRAM in a process
// of its own, and pulls 100,000 random rows. Prints one JSON line; exits 1 if the median ratio of
// throughputs is below 0.5.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "client/open/open_stores.h"
#include "client/remote/message_io.h"
#include "client/remote/pull_call.h"
#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/base/stopwatch.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/pull/bare_bytes.h"
#include "tests/bench/pull/child_process.h"
#include "tests/support/graph_fixture.h"

namespace halograph {
namespace {

constexpr int64_t kNodes = 200'000;
constexpr int64_t kDim = 100;
constexpr int64_t kRows = 100'000;
constexpr size_t kRowBytes = kDim * sizeof(float);
constexpr int kPullsARound = 5;
constexpr double kGate = 0.5;

const TensorRef kTensor{false, "node", "feat"};

class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("halograph-pull-bench-{}", getpid())) {}
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

StatusOr<std::filesystem::path> WriteGraph(const std::filesystem::path& folder) {
  std::vector<float> values(static_cast<size_t>(kNodes * kDim));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 65536);
  TestGraphSpec spec;
  spec.node_types = {{.name = "node",
                      .owners = std::vector<int>(static_cast<size_t>(kNodes), 0),
                      .features = {MakeTensor("feat", values, kDim)}}};
  spec.relations = {
      {.source = "node", .name = "edge", .destination = "node", .edges = {{0, 1}}, .features = {}}};
  return WriteTestGraph(spec, folder / "graph");
}

template <typename Body>
double SecondsOf(const Body& body) {
  const Stopwatch watch;
  body();
  return watch.Seconds();
}

// The messages that a pull of kRows rows consists of.
std::vector<BareCall> PlanBareCalls(const RemoteOptions& options) {
  constexpr int64_t kHeader = 24;
  const int64_t rows = RowsPerCall(kRows, kRowBytes, PlannedBytes(options.max_message_bytes),
                                   options.calls_in_flight);
  std::vector<BareCall> calls;
  for (int64_t begin = 0; begin < kRows; begin += rows) {
    const int64_t count = std::min(rows, kRows - begin);
    calls.push_back({.request_bytes = kHeader + count * int64_t{sizeof(int64_t)},
                     .reply_bytes = kHeader + count * int64_t{kRowBytes}});
  }
  return calls;
}

// Rows are what the folder was written with: what is fast must also be right.
bool RowsAreRight(const std::vector<int64_t>& ids, const std::vector<float>& rows) {
  for (size_t i = 0; i < ids.size(); ++i) {
    for (size_t c = 0; c < kDim; ++c) {
      const size_t value = (static_cast<size_t>(ids[i]) * kDim + c) % 65536;
      if (rows[i * kDim + c] != static_cast<float>(value)) return false;
    }
  }
  return true;
}

struct Measured {
  std::vector<double> pull_seconds;
  std::vector<double> pull_cpu_seconds;  // of client and server
  std::vector<double> bare_seconds;
  std::vector<double> ratios;
};

StatusOr<Measured> Measure(RowStore& store, BareClient& bare, const std::vector<BareCall>& calls,
                           const ChildProcess& server, int rounds) {
  CounterRng rng(Mix(1));
  std::vector<int64_t> ids(static_cast<size_t>(kRows));
  for (int64_t& id : ids) id = static_cast<int64_t>(rng.NextBounded(kNodes));
  std::vector<float> rows(static_cast<size_t>(kRows * kDim));
  Measured measured;
  Status status;
  bool bare_ok = true;
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    const double cpu_before = ProcessCpu() + server.CpuSeconds();
    const double pull = SecondsOf([&] {
      for (int i = 0; i < kPullsARound && status.ok(); ++i) {
        CallContext context;
        status = store.Pull(
            {.tensor = kTensor, .ids = ids, .out = std::as_writable_bytes(std::span(rows))},
            context);
      }
    });
    const double cpu = ProcessCpu() + server.CpuSeconds() - cpu_before;
    const double plain = SecondsOf([&] {
      for (int i = 0; i < kPullsARound && bare_ok; ++i) bare_ok = bare.Run(calls);
    });
    HG_RETURN_IF_ERROR(status);
    if (!bare_ok) return Internal("a bare call failed");
    if (round < 0) continue;
    measured.pull_seconds.push_back(pull / kPullsARound);
    measured.pull_cpu_seconds.push_back(cpu / kPullsARound);
    measured.bare_seconds.push_back(plain / kPullsARound);
    measured.ratios.push_back(plain / pull);
  }
  if (!RowsAreRight(ids, rows)) return Internal("the rows pulled are not those written");
  return measured;
}

StatusOr<double> Run(const std::string& server_program, const std::string& self, int rounds) {
  const ScratchFolder folder;
  HG_ASSIGN_OR_RETURN(const std::filesystem::path graph, WriteGraph(folder.path()));
  const ChildProcess server(
      {server_program, "--graph", graph.string(), "--part", "all", "--listen", "127.0.0.1:0"});
  const ChildProcess bare_server({self, "--serve-bare-bytes"});
  if (server.address().empty() || bare_server.address().empty()) {
    return FailedPrecondition("{} or the bare server did not start", server_program);
  }
  RemoteOptions options;
  options.servers = {server.address()};
  HG_ASSIGN_OR_RETURN(const Stores stores, OpenStores({.remote = options}));
  BareClient bare(bare_server.address(), options.channels_per_server, options.calls_in_flight);
  const std::vector<BareCall> calls = PlanBareCalls(options);
  HG_ASSIGN_OR_RETURN(const Measured measured, Measure(*stores.rows, bare, calls, server, rounds));

  const double gigabytes = static_cast<double>(kRows) * kRowBytes / 1e9;
  const double ratio = Median(measured.ratios);
  const auto [least, most] = std::minmax_element(measured.ratios.begin(), measured.ratios.end());
  const Json report = {{"bench", "pull"},
                       {"cpu", CpuModel()},
                       {"cores", std::thread::hardware_concurrency()},
                       {"build", BuildVersion()},
                       {"identity", stores.graph->info().identity},
                       {"rows", kRows},
                       {"row_bytes", kRowBytes},
                       {"messages", calls.size()},
                       {"channels", options.channels_per_server},
                       {"calls_in_flight", options.calls_in_flight},
                       {"rounds", rounds},
                       {"pull_gb_per_s", gigabytes / Median(measured.pull_seconds)},
                       {"pull_cpu_s_per_gb", Median(measured.pull_cpu_seconds) / gigabytes},
                       {"bare_gb_per_s", gigabytes / Median(measured.bare_seconds)},
                       {"ratio_median", ratio},
                       {"ratio_least", *least},
                       {"ratio_most", *most}};
  fmt::print("{}\n", report.dump());
  return ratio;
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--serve-bare-bytes") return ServeBareBytes();
  const int rounds = argc == 3 ? std::atoi(argv[2]) : 9;
  if (argc < 2 || argc > 3 || rounds < 1) {
    fmt::print(stderr, "usage: pull_bench SERVER_PROGRAM [ROUNDS]\n");
    return 2;
  }
  const StatusOr<double> ratio = Run(argv[1], argv[0], rounds);
  if (!ratio.ok()) {
    fmt::print(stderr, "pull_bench: {}\n", ToString(ratio.status()));
    return 1;
  }
  if (*ratio < kGate) fmt::print(stderr, "pull_bench: {:.2f} is below {}\n", *ratio, kGate);
  return *ratio < kGate ? 1 : 0;
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) { return halograph::Main(argc, argv); }

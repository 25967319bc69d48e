// Remote pull against the same over TLS, and against bare byte buffers of the same sizes over as
// many channels and outstanding calls, in the same run, in turns.
//   pull_bench SERVER_PROGRAM [ROUNDS]
// Writes a graph of 200,000 nodes with 100 float32 each, serves it by SERVER_PROGRAM in a process
// of its own, and once more with certificates that it makes, and pulls 100,000 random rows. Prints
// one JSON line; exits 1 if the median ratio of throughputs, of pulls and bare bytes, is below 0.5.
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
#include "common/base/wall_clock.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/pull/bare_bytes.h"
#include "tests/bench/pull/child_process.h"
#include "tests/support/graph_fixture.h"
#include "tests/support/test_ca.h"

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

// A server, and what pulls from it.
struct Contestant {
  const ChildProcess& server;
  Stores stores;
  std::vector<double> seconds;      // of a pull
  std::vector<double> cpu_seconds;  // of client and server
};

StatusOr<Contestant> Connect(const ChildProcess& server, RemoteOptions options) {
  options.servers = {server.address()};
  HG_RETURN_IF_ERROR(options.OpenTls());
  HG_ASSIGN_OR_RETURN(Stores stores, OpenStores({.remote = options}));
  return Contestant{server, std::move(stores), {}, {}};
}

Status PullARound(const std::vector<int64_t>& ids, std::vector<float>* rows, Contestant* of) {
  const double cpu_before = ProcessCpu() + of->server.CpuSeconds();
  Status status;
  const double seconds = SecondsOf([&] {
    for (int i = 0; i < kPullsARound && status.ok(); ++i) {
      CallContext context;
      status = of->stores.rows->Pull(
          {.tensor = kTensor, .ids = ids, .out = std::as_writable_bytes(std::span(*rows))},
          context);
    }
  });
  of->seconds.push_back(seconds / kPullsARound);
  of->cpu_seconds.push_back((ProcessCpu() + of->server.CpuSeconds() - cpu_before) / kPullsARound);
  if (status.ok() && !RowsAreRight(ids, *rows)) {
    return Internal("the rows pulled are not those written");
  }
  return status;
}

// Seconds of `bare`, of which the first warms up as those of the contestants do.
StatusOr<std::vector<double>> Measure(Contestant* plain, Contestant* tls, BareClient& bare,
                                      const std::vector<BareCall>& calls, int rounds) {
  CounterRng rng(Mix(1));
  std::vector<int64_t> ids(static_cast<size_t>(kRows));
  for (int64_t& id : ids) id = static_cast<int64_t>(rng.NextBounded(kNodes));
  std::vector<float> rows(static_cast<size_t>(kRows * kDim));
  std::vector<double> bare_seconds;
  bool bare_ok = true;
  for (int round = 0; round <= rounds; ++round) {
    HG_RETURN_IF_ERROR(PullARound(ids, &rows, plain));
    bare_seconds.push_back(SecondsOf([&] {
                             for (int i = 0; i < kPullsARound && bare_ok; ++i)
                               bare_ok = bare.Run(calls);
                           }) /
                           kPullsARound);
    if (!bare_ok) return Internal("a bare call failed");
    HG_RETURN_IF_ERROR(PullARound(ids, &rows, tls));
  }
  for (auto* figures :
       {&bare_seconds, &plain->seconds, &plain->cpu_seconds, &tls->seconds, &tls->cpu_seconds}) {
    figures->erase(figures->begin());
  }
  return bare_seconds;
}

// How fast pulls were relative to what took `seconds` in the same round.
std::vector<double> Ratios(const std::vector<double>& seconds, const std::vector<double>& pulls) {
  std::vector<double> ratios;
  for (size_t i = 0; i < pulls.size(); ++i) ratios.push_back(seconds[i] / pulls[i]);
  return ratios;
}

StatusOr<double> Run(const std::string& server_program, const std::string& self, int rounds) {
  const ScratchFolder folder;
  HG_ASSIGN_OR_RETURN(const std::filesystem::path graph, WriteGraph(folder.path()));
  const std::filesystem::path tls_folder = folder.path() / "tls";
  TestCa ca(SecondsSince1970());
  WriteTlsFolder(tls_folder, ca.Make(), ca.root());
  const std::vector<std::string> command = {server_program, "--graph",  graph.string(), "--part",
                                            "all",          "--listen", "127.0.0.1:0"};
  std::vector<std::string> tls_command = command;
  tls_command.insert(tls_command.end(), {"--tls-dir", tls_folder.string()});
  const ChildProcess server(command);
  const ChildProcess tls_server(tls_command);
  const ChildProcess bare_server({self, "--serve-bare-bytes"});
  if (server.address().empty() || tls_server.address().empty() || bare_server.address().empty()) {
    return FailedPrecondition("{} or the bare server did not start", server_program);
  }
  RemoteOptions options;
  HG_ASSIGN_OR_RETURN(Contestant plain, Connect(server, options));
  BareClient bare(bare_server.address(), options.channels_per_server, options.calls_in_flight);
  const std::vector<BareCall> calls = PlanBareCalls(options);
  options.tls.folder = tls_folder;
  HG_ASSIGN_OR_RETURN(Contestant tls, Connect(tls_server, options));
  HG_ASSIGN_OR_RETURN(const std::vector<double> bare_seconds,
                      Measure(&plain, &tls, bare, calls, rounds));

  const double gigabytes = static_cast<double>(kRows) * kRowBytes / 1e9;
  const std::vector<double> ratios = Ratios(bare_seconds, plain.seconds);
  const double ratio = Median(ratios);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const Json report = {{"bench", "pull"},
                       {"cpu", CpuModel()},
                       {"cores", std::thread::hardware_concurrency()},
                       {"build", BuildVersion()},
                       {"identity", plain.stores.graph->info().identity},
                       {"rows", kRows},
                       {"row_bytes", kRowBytes},
                       {"messages", calls.size()},
                       {"channels", options.channels_per_server},
                       {"calls_in_flight", options.calls_in_flight},
                       {"rounds", rounds},
                       {"pull_gb_per_s", gigabytes / Median(plain.seconds)},
                       {"pull_cpu_s_per_gb", Median(plain.cpu_seconds) / gigabytes},
                       {"tls_gb_per_s", gigabytes / Median(tls.seconds)},
                       {"tls_cpu_s_per_gb", Median(tls.cpu_seconds) / gigabytes},
                       {"tls_ratio_median", Median(Ratios(plain.seconds, tls.seconds))},
                       {"bare_gb_per_s", gigabytes / Median(bare_seconds)},
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

// What calls of GraphService/Sample cost, over loopback: the same calls to each of several server
// programs, in the same run, in turns, so that builds of the server can be compared.
//   sample_calls_bench ROUNDS SERVER_PROGRAM [SERVER_PROGRAM...]
// Serves a graph of 100,000 nodes and 2,000,000 random edges by each program in a process of its
// own. A round is 40 calls, four under way at a time, of 8,000 destinations and a fanout of 10. One
// JSON line a program: medians over the rounds of seconds and of CPU seconds of the server, for a
// GB of replies, and CPU seconds of the client, which reads the replies by proto/wire.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "client/remote/transport.h"
#include "common/base/build_info.h"
#include "common/base/rng.h"
#include "common/base/stopwatch.h"
#include "proto/wire/sample_reply.h"
#include "proto/wire/sample_request.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/pull/child_process.h"
#include "tests/support/graph_fixture.h"

namespace halograph {
namespace {

constexpr int64_t kNodes = 100'000;
constexpr int64_t kEdges = 2'000'000;
constexpr size_t kDestinations = 8'000;
constexpr int32_t kFanout = 10;
constexpr int kCallsARound = 40;
constexpr int kCallsInFlight = 4;

StatusOr<std::filesystem::path> WriteGraph(const std::filesystem::path& folder) {
  CounterRng rng(Mix(5));
  TestGraphSpec spec;
  spec.node_types = {
      {.name = "node", .owners = std::vector<int>(static_cast<size_t>(kNodes), 0), .features = {}}};
  TestRelation relation{
      .source = "node", .name = "edge", .destination = "node", .edges = {}, .features = {}};
  for (int64_t e = 0; e < kEdges; ++e) {
    relation.edges.emplace_back(static_cast<int64_t>(rng.NextBounded(kNodes)),
                                static_cast<int64_t>(rng.NextBounded(kNodes)));
  }
  spec.relations = {relation};
  return WriteTestGraph(spec, folder / "graph");
}

std::shared_ptr<const std::string> MakeRequest(uint64_t seed) {
  CounterRng rng(Mix(seed));
  std::vector<int64_t> destinations(kDestinations);
  for (int64_t& id : destinations) id = static_cast<int64_t>(rng.NextBounded(kNodes));
  const wire::SampleGroupView group{
      .relation = "node:edge:node", .rule = {.fanout = kFanout}, .destinations = destinations};
  return std::make_shared<const std::string>(
      wire::WriteSampleRequest({.batch_seed = seed, .groups = std::span(&group, 1)}));
}

struct Figures {
  std::vector<double> seconds;
  std::vector<double> server_cpu;
  std::vector<double> client_cpu;
};

// One server and the calls to it.
class Trial {
 public:
  Trial(const std::string& program, const std::filesystem::path& graph)
      : program_(program),
        server_({program, "--graph", graph.string(), "--part", "all", "--listen", "127.0.0.1:0"}) {}

  [[nodiscard]] bool started() const { return !server_.address().empty(); }

  // Started once all servers are: children are started before threads.
  void Connect() {
    transport_ = std::make_unique<Transport>(
        TransportOptions{.servers = {{server_.address(), server_.address()}}, .rank = -1});
  }

  [[nodiscard]] Status Round(uint64_t round, bool counts) {
    const double server_before = server_.CpuSeconds();
    const double client_before = ProcessCpu();
    const Stopwatch watch;
    bytes_ = 0;
    HG_RETURN_IF_ERROR(Calls(round));
    const double gigabytes = static_cast<double>(bytes_) * 1e-9;
    if (!counts) return OkStatus();
    figures_.seconds.push_back(watch.Seconds() / gigabytes);
    figures_.server_cpu.push_back((server_.CpuSeconds() - server_before) / gigabytes);
    figures_.client_cpu.push_back((ProcessCpu() - client_before) / gigabytes);
    return OkStatus();
  }

  [[nodiscard]] const std::string& program() const { return program_; }
  [[nodiscard]] const Figures& figures() const { return figures_; }

 private:
  [[nodiscard]] Status Calls(uint64_t round) {
    std::deque<std::unique_ptr<Transport::Attempt>> attempts;
    for (int call = 0; call < kCallsARound; ++call) {
      const auto request = MakeRequest(round * kCallsARound + static_cast<uint64_t>(call));
      {
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return in_flight_ < kCallsInFlight; });
        ++in_flight_;
      }
      AttemptSpec spec;
      spec.method = Method::kSample;
      spec.request = request;
      spec.deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      attempts.push_back(transport_->Start(
          spec, [this](ReplyPieces pieces) { return Read(pieces); },
          [this](const AttemptResult& result) { End(result.status); }));
    }
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return in_flight_ == 0; });
    return status_;
  }

  [[nodiscard]] Status Read(ReplyPieces pieces) {
    const wire::SampleGroupExpected expected{
        .destinations = kDestinations, .fanout = kFanout, .source_nodes = kNodes, .edges = kEdges};
    std::vector<wire::SampleGroupReply> groups;
    HG_RETURN_IF_ERROR(wire::ReadSampleReply(pieces, std::span(&expected, 1), &groups));
    if (groups.size() != 1 || groups[0].counts.size() != kDestinations) {
      return Internal("a reply was cut");
    }
    std::lock_guard lock(mutex_);
    for (const auto piece : pieces) bytes_ += piece.size();
    return OkStatus();
  }

  void End(const Status& status) {
    std::lock_guard lock(mutex_);
    if (!status.ok()) status_ = status;
    --in_flight_;
    done_.notify_all();
  }

  const std::string program_;
  const ChildProcess server_;
  std::unique_ptr<Transport> transport_;
  Figures figures_;
  std::mutex mutex_;
  std::condition_variable done_;
  int in_flight_ = 0;
  size_t bytes_ = 0;
  Status status_;
};

double Least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

Status Run(int rounds, const std::vector<std::string>& programs) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("halograph-sample-calls-{}", getpid());
  HG_ASSIGN_OR_RETURN(const std::filesystem::path graph, WriteGraph(folder));
  std::deque<Trial> trials;
  for (const std::string& program : programs) {
    if (!trials.emplace_back(program, graph).started()) {
      return FailedPrecondition("{} did not start", program);
    }
  }
  std::filesystem::remove_all(folder);  // the servers have it mapped
  for (Trial& trial : trials) trial.Connect();
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    for (Trial& trial : trials) {
      HG_RETURN_IF_ERROR(trial.Round(static_cast<uint64_t>(round + 1), round >= 0));
    }
  }
  for (const Trial& trial : trials) {
    const Json report = {{"bench", "sample_calls"},
                         {"cpu", CpuModel()},
                         {"build", BuildVersion()},
                         {"server", trial.program()},
                         {"rounds", rounds},
                         {"s_per_gb", Median(trial.figures().seconds)},
                         {"server_cpu_s_per_gb", Median(trial.figures().server_cpu)},
                         {"server_cpu_s_per_gb_least", Least(trial.figures().server_cpu)},
                         {"client_cpu_s_per_gb", Median(trial.figures().client_cpu)}};
    fmt::print("{}\n", report.dump());
  }
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[1]) : 0;
  if (rounds < 1) {
    fmt::print(stderr, "usage: sample_calls_bench ROUNDS SERVER_PROGRAM [SERVER_PROGRAM...]\n");
    return 2;
  }
  const halograph::Status status = halograph::Run(rounds, {argv + 2, argv + argc});
  if (!status.ok()) fmt::print(stderr, "sample_calls_bench: {}\n", halograph::ToString(status));
  return status.ok() ? 0 : 1;
}

// Anonymous memory of a server that several trainers pull from and sample at once.
//   server_memory SERVER_PROGRAM GRAPH [SECONDS]
// Starts the program on all parts of GRAPH, loads it for SECONDS (10), and prints one JSON line:
// bytes of RssAnon when idle, the most seen under load, and afterwards; RssFile; bytes served.
// Exits 1 if RssAnon reached 100 MB.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/open/open_stores.h"
#include "common/base/rng.h"
#include "common/storage/json.h"

namespace halograph {
namespace {

constexpr int64_t kLimitBytes = 100'000'000;
constexpr int kClients = 4;  // each with a puller and a sampler
constexpr int64_t kRowsAPull = 100'000;
constexpr int64_t kSeedsABatch = 4096;

// A field of /proc/PID/status in bytes; 0 if the process is gone.
int64_t StatusBytes(pid_t pid, const std::string& field) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

std::string ReadAddress(const std::filesystem::path& file, pid_t pid) {
  std::string address;
  while (address.empty() && kill(pid, 0) == 0 && waitpid(pid, nullptr, WNOHANG) == 0) {
    std::ifstream(file) >> address;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return address;
}

// The widest feature of a node type, if there is one.
bool WidestFeature(const Schema& schema, TensorRef* tensor, TensorSpec* spec, int64_t* rows) {
  for (const NodeType& type : schema.node_types) {
    for (const TensorSpec& feature : type.features) {
      if (feature.row_bytes() <= (tensor->name.empty() ? 0 : spec->row_bytes())) continue;
      *tensor = {.edge = false, .type = type.name, .name = feature.name};
      *spec = feature;
      *rows = type.count;
    }
  }
  return !tensor->name.empty();
}

struct Load {
  std::atomic<bool> stop{false};
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> edges{0};
  std::atomic<int64_t> errors{0};
};

void PullUntilStopped(const Stores& stores, uint64_t seed, Load& load) {
  TensorRef tensor;
  TensorSpec spec;
  int64_t count = 0;
  if (!WidestFeature(stores.graph->info().schema, &tensor, &spec, &count)) return;
  std::vector<int64_t> ids(kRowsAPull);
  std::vector<std::byte> rows(ids.size() * spec.row_bytes());
  CounterRng rng(seed);
  while (!load.stop) {
    for (int64_t& id : ids) id = static_cast<int64_t>(rng.NextBounded(count));
    CallContext context;
    if (!stores.rows->Pull({.tensor = tensor, .ids = ids, .out = rows}, context).ok())
      ++load.errors;
    load.bytes += static_cast<int64_t>(rows.size());
  }
}

void SampleUntilStopped(GraphStore& graph, uint64_t seed, Load& load) {
  const Schema& schema = graph.info().schema;
  const std::vector<int32_t> fanouts = {15, 10};
  const SamplingSpec spec = SamplingSpec::Uniform(schema, fanouts);
  const int type = schema.DestinationType(0);
  std::vector<int64_t> seeds(kSeedsABatch);
  CounterRng rng(seed);
  Minibatch minibatch;
  for (uint64_t batch = 0; !load.stop; ++batch) {
    for (int64_t& id : seeds) {
      id = static_cast<int64_t>(rng.NextBounded(schema.node_types[type].count));
    }
    CallContext context;
    const Status status = graph.Sample(
        {.seeds = {{.type = type, .ids = seeds}}, .batch_seed = seed + batch, .spec = &spec},
        context, &minibatch);
    if (!status.ok()) ++load.errors;
    if (status.ok()) load.edges += minibatch.sampled_edges;
  }
}

Json Measure(pid_t pid, const std::string& address, double seconds) {
  const int64_t idle = StatusBytes(pid, "RssAnon");
  Load load;
  std::vector<Stores> stores;
  std::vector<std::thread> threads;
  for (int c = 0; c < kClients; ++c) {
    RemoteOptions options;
    options.servers = {address};
    auto opened = OpenStores({.remote = options});
    if (!opened.ok()) return {{"error", ToString(opened.status())}};
    stores.push_back(std::move(opened).value());
  }
  for (int c = 0; c < kClients; ++c) {
    threads.emplace_back([&, c] { PullUntilStopped(stores[c], c, load); });
    threads.emplace_back([&, c] { SampleUntilStopped(*stores[c].graph, c, load); });
  }
  int64_t most = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    most = std::max(most, StatusBytes(pid, "RssAnon"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  load.stop = true;
  for (std::thread& thread : threads) thread.join();
  return {{"rss_anon_idle", idle},
          {"rss_anon_most", most},
          {"rss_anon_after", StatusBytes(pid, "RssAnon")},
          {"rss_file_after", StatusBytes(pid, "RssFile")},
          {"pulled_bytes", load.bytes.load()},
          {"sampled_edges", load.edges.load()},
          {"errors", load.errors.load()},
          {"seconds", seconds},
          {"limit", kLimitBytes}};
}

int Main(const std::string& program, const std::string& graph, double seconds) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("server_memory.{}", getpid());
  std::vector<std::string> words = {program,   "--graph",        graph,         "--part",
                                    "all",     "--listen",       "127.0.0.1:0", "--verify",
                                    "headers", "--address-file", file.string()};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
    fmt::print(stderr, "server_memory: cannot start {}\n", program);
    return 1;
  }
  const std::string address = ReadAddress(file, pid);
  std::filesystem::remove(file);
  if (address.empty()) return 1;
  const Json result = Measure(pid, address, seconds);
  kill(pid, SIGTERM);
  waitpid(pid, nullptr, 0);
  fmt::print("{}\n", result.dump());
  return result.value("rss_anon_most", kLimitBytes) < kLimitBytes ? 0 : 1;
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: server_memory SERVER_PROGRAM GRAPH [SECONDS]\n");
    return 2;
  }
  return halograph::Main(argv[1], argv[2], argc > 3 ? std::atof(argv[3]) : 10.0);
}

// What the whole of `halograph-partition run` costs beside a bare METIS call on the same graph:
// seconds and peak anonymous memory, topology only, on an R-MAT graph of any size.
//
// The bare call is METIS_PartGraphKway in a process of its own, on the folded graph and the vertex
// weights (nodes, edges) that the run gives it, with the same seed. Its time is that of the call
// alone; its memory is the graph in METIS' form and what METIS adds. Of the run everything counts:
// reading, folding, METIS, balancing, renumbering, writing, checksums, syncing.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/build_info.h"
#include "common/base/progress.h"
#include "common/base/stopwatch.h"
#include "common/base/units.h"
#include "common/program/program.h"
#include "partitioner/compare/anonymous_peak.h"
#include "partitioner/generate/rmat.h"
#include "partitioner/methods/metis/metis_call.h"
#include "partitioner/readers/reader.h"
#include "tests/bench/cpu_model.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

struct Options {
  RmatOptions rmat;
  int parts = 2;
  uint64_t seed = 1;
  int repeats = 3;
  fs::path work;
  fs::path program;
};

struct Cost {
  double seconds = 0;
  double cpu_seconds = 0;  // all threads, user and system: comparable on a busy machine
  int64_t peak_bytes = 0;
};

double CpuSeconds(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double OwnCpuSeconds() {
  rusage own{}, children{};  // METIS is a child
  ::getrusage(RUSAGE_SELF, &own);
  ::getrusage(RUSAGE_CHILDREN, &children);
  return CpuSeconds(own) + CpuSeconds(children);
}

StatusOr<Cost> CallMetisOnce(const fs::path& input, const Options& options) {
  ReadOptions read;
  read.scratch = options.work;
  HG_ASSIGN_OR_RETURN(const Dataset dataset, OpenDataset(input, read));
  HG_ASSIGN_OR_RETURN(FoldedGraph graph, BuildFoldedGraph(dataset, false));
  HG_ASSIGN_OR_RETURN(const VertexWeights weights, BuildVertexWeights(dataset, graph, {}));
  graph.in_degrees = {};
  malloc_trim(0);
  AnonymousPeak peak(::getpid());
  const Stopwatch watch;
  const double cpu_start = OwnCpuSeconds();
  HG_ASSIGN_OR_RETURN(const auto owners, CallMetis(graph, weights, options.parts, options.seed));
  return Cost{watch.Seconds(), OwnCpuSeconds() - cpu_start, peak.Stop()};
}

// The bare call in a child, which hands its cost back through a file.
StatusOr<Cost> MeasureMetis(const fs::path& input, const Options& options) {
  const fs::path result = options.work / "metis-cost";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto cost = CallMetisOnce(input, options);
    if (!cost.ok()) fmt::print(stderr, "{}\n", ToString(cost.status()));
    if (cost.ok()) {
      std::ofstream(result) << cost->seconds << ' ' << cost->cpu_seconds << ' ' << cost->peak_bytes;
    }
    ::_exit(cost.ok() ? 0 : 1);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) return Internal("bare METIS failed");
  Cost cost;
  std::ifstream(result) >> cost.seconds >> cost.cpu_seconds >> cost.peak_bytes;
  return cost;
}

StatusOr<Cost> MeasureRun(const fs::path& input, const Options& options) {
  const fs::path output = options.work / "graph";
  fs::remove_all(output);
  const Stopwatch watch;
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(options.program.c_str(), options.program.c_str(), "run", "--quiet", "--input",
            input.c_str(), "--output", output.c_str(), "--parts",
            std::to_string(options.parts).c_str(), "--seed", std::to_string(options.seed).c_str(),
            nullptr);
    ::_exit(127);
  }
  AnonymousPeak peak(child);
  int status = 0;
  rusage usage{};
  if (::wait4(child, &status, 0, &usage) != child || status != 0) {
    return Internal("{} run failed with status {}", options.program.string(), status);
  }
  return Cost{watch.Seconds(), CpuSeconds(usage), peak.Stop()};
}

Json ToJson(std::vector<Cost> costs) {
  std::sort(costs.begin(), costs.end(),
            [](const Cost& a, const Cost& b) { return a.seconds < b.seconds; });
  int64_t peak = 0;
  std::vector<double> cpu;
  for (const Cost& cost : costs) cpu.push_back(cost.cpu_seconds);
  std::sort(cpu.begin(), cpu.end());
  for (const Cost& cost : costs) peak = std::max(peak, cost.peak_bytes);
  return {{"seconds_median", costs[costs.size() / 2].seconds},
          {"seconds_min", costs.front().seconds},
          {"seconds_max", costs.back().seconds},
          {"cpu_seconds_median", cpu[cpu.size() / 2]},
          {"peak_anonymous_bytes", peak}};
}

Status Bench(const Options& options) {
  const fs::path input = options.work / "rmat";
  if (!fs::exists(input)) {
    HG_RETURN_IF_ERROR(GenerateRmat(options.rmat, {.folder = input, .replace = false}));
  }
  std::vector<Cost> metis;
  std::vector<Cost> run;
  for (int i = 0; i < options.repeats; ++i) {
    HG_ASSIGN_OR_RETURN(const Cost bare, MeasureMetis(input, options));
    HG_ASSIGN_OR_RETURN(const Cost whole, MeasureRun(input, options));
    metis.push_back(bare);
    run.push_back(whole);
    fmt::print(stderr, "bare METIS {:.2f} s, {}; whole run {:.2f} s, {}\n", bare.seconds,
               FormatBytes(bare.peak_bytes), whole.seconds, FormatBytes(whole.peak_bytes));
  }
  Json result = {{"benchmark", "partition"},
                 {"build", BuildVersion()},
                 {"cpu", CpuModel()},
                 {"cpus", std::thread::hardware_concurrency()},
                 {"log2_nodes", options.rmat.log2_nodes},
                 {"edges", options.rmat.edges * (options.rmat.undirected ? 2 : 1)},
                 {"undirected", options.rmat.undirected},
                 {"parts", options.parts},
                 {"seed", options.seed},
                 {"repeats", options.repeats},
                 {"metis", ToJson(metis)},
                 {"run", ToJson(run)}};
  const auto ratio = [&](const char* key) {
    return result["run"][key].get<double>() / result["metis"][key].get<double>();
  };
  result["seconds_ratio"] = ratio("seconds_median");
  result["cpu_seconds_ratio"] = ratio("cpu_seconds_median");
  result["memory_ratio"] = ratio("peak_anonymous_bytes");
  fmt::print("{}\n", result.dump(2));
  return OkStatus();
}

Status MakeAndBench(const Options& options, bool keep) {
#ifndef NDEBUG
  fmt::print(stderr, "WARNING: not an optimised build\n");
#endif
  Progress::Enable(false);
  Status status = MakeFolder(options.work);
  if (status.ok()) status = Bench(options);
  std::error_code ignored;
  if (!keep) fs::remove_all(options.work, ignored);
  return status;
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Options options;
  options.rmat.log2_nodes = 20;
  options.rmat.edges = 16'000'000;
  options.work = fs::temp_directory_path() / fmt::format("halograph-partition-bench-{}", getpid());
  std::error_code error;
  options.program = fs::read_symlink("/proc/self/exe", error).parent_path() / "halograph-partition";
  Program program("partition_bench", "Compares halograph-partition run with a bare METIS call.");
  OptionTable& rows = program.options();
  rows.Add("log2-nodes", &options.rmat.log2_nodes, "log2 of the number of nodes");
  rows.Add("edges", &options.rmat.edges, "edges to draw");
  rows.Add("undirected", &options.rmat.undirected, "list each edge in both directions");
  rows.Add("parts", &options.parts, "number of partitions").Range(2, 4096);
  rows.Add("seed", &options.seed, "of the graph and of METIS");
  rows.Add("repeats", &options.repeats, "of which medians are taken").Range(1, 100);
  rows.Add("work", &options.work, "folder for the graph and the output; kept if given");
  program.Run([&] { return MakeAndBench(options, rows.given("work")); });
  return program.Main(argc, argv);
}

// How good partition methods are, and what they take: methods x graphs x partitions x order of the
// stream, each run in a process of its own. Prints a line a run, then the replication of one method
// against each other, compared only where both keep the balance (MethodResult::Balanced).
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/progress.h"
#include "common/base/units.h"
#include "common/program/program.h"
#include "common/storage/file.h"
#include "partitioner/compare/compare.h"
#include "partitioner/compare/method_run.h"
#include "partitioner/inspect/quality.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/plan/run_plan.h"
#include "tests/bench/partition/bench_graphs.h"
#include "tests/bench/partition/method_ratios.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> methods = MethodNames();
  std::vector<std::string> graphs = RealGraphNames();
  std::vector<std::string> orders = {"given", "shuffled"};
  std::vector<int> parts = {2, 4, 8};
  std::string against = "stream-metis";
  std::string balance = "nodes,edges";
  uint64_t seed = 1;
  int64_t nodes = 1'000'000;
  std::string memory;
  bool predict = false;
  fs::path work;
  fs::path json;
};

// What `plan` says of the method's time.
StatusOr<double> Predict(const Dataset& dataset, const std::string& name,
                         const MethodOptions& options, const fs::path& work) {
  HG_ASSIGN_OR_RETURN(const EdgeSample sample, SampleEdges(dataset));
  const PlanOptions plan_options{.methods = {name}, .method = options};
  HG_ASSIGN_OR_RETURN(const RunPlan plan,
                      PlanRun(GraphSizes::Of(dataset), sample, plan_options, work));
  return plan.methods.front().assign_seconds;
}

Status Measure(const Dataset& dataset, const std::string& name, const MethodOptions& options,
               const fs::path& work, bool predict, MethodResult* result) {
  HG_ASSIGN_OR_RETURN(const auto method, MakeMethod(name));
  result->planned_bytes =
      kProgramBytes + method->PlanMemory(GraphCounts::Of(dataset), options).peak_bytes();
  if (predict) {
    HG_ASSIGN_OR_RETURN(result->predicted_seconds, Predict(dataset, name, options, work));
  }
  HG_ASSIGN_OR_RETURN(const MethodRun run, RunMethodInChild(dataset, name, options, work));
  HG_ASSIGN_OR_RETURN(const GraphSummary quality,
                      QualityOf(dataset, run.assignment, options.parts));
  result->replication = quality.replication_factor;
  result->edge_cut_share = quality.edge_cut_share();
  result->balance = quality.balance;
  result->seconds = run.seconds;
  result->cpu_seconds = run.cpu_seconds;
  result->peak_bytes = run.peak_anonymous_bytes;
  return OkStatus();
}

Status MeasureGraph(const Options& options, const BenchGraph& graph,
                    std::vector<MethodResult>* results) {
  HG_ASSIGN_OR_RETURN(const Dataset dataset,
                      OpenBenchGraph(graph, options.nodes, options.seed, options.work));
  for (const int parts : options.parts) {
    for (const std::string& word : options.methods) {
      MethodOptions method{.parts = parts, .seed = options.seed};
      HG_ASSIGN_OR_RETURN(method.balance, BalanceOptions::Parse(options.balance));
      if (!options.memory.empty()) {
        HG_ASSIGN_OR_RETURN(method.memory, ParseBytes(options.memory));
      }
      HG_ASSIGN_OR_RETURN(const std::string name, ParseMethodWord(word, &method));
      MethodResult result;
      result.method = word;
      result.graph = fs::path(graph.name).filename().string();
      result.shuffled = graph.shuffled;
      result.parts = parts;
      const Status status = Measure(dataset, name, method, options.work, options.predict, &result);
      if (!status.ok()) result.failure = ToString(status);
      fmt::print("{}", ResultLine(result));
      std::fflush(stdout);
      results->push_back(std::move(result));
    }
  }
  return OkStatus();
}

Status Bench(const Options& options) {
  std::vector<MethodResult> results;
  fmt::print("{}", ResultHeader());
  for (const std::string& graph : options.graphs) {
    for (const std::string& order : options.orders) {
      HG_RETURN_IF_ERROR(MeasureGraph(options, {graph, order == "shuffled"}, &results));
    }
  }
  const Json ratios = Ratios(results, options.against);
  fmt::print("\n{}", RatioTable(ratios, options.against));
  if (options.json.empty()) return OkStatus();
  Json runs = Json::array();
  for (const MethodResult& result : results) runs.push_back(ToJson(result));
  const Json report = {{"benchmark", "partition_methods"},
                       {"build", BuildVersion()},
                       {"cpus", std::thread::hardware_concurrency()},
                       {"seed", options.seed},
                       {"balance", options.balance},
                       {"runs", std::move(runs)},
                       {"against", options.against},
                       {"ratios", ratios}};
  return WriteFileAtomically(options.json, report.dump(2) + "\n");
}

void AddOptions(OptionTable& rows, Options* options) {
  rows.Add("methods", &options->methods, "with an owner rule as 2ps-l:random");
  rows.Add("graphs", &options->graphs,
           fmt::format("{}, planted, hierarchical, or paths of graphs",
                       fmt::join(RealGraphNames(), ", ")));
  rows.Add("orders", &options->orders, "order of the stream of edges").OneOf({"given", "shuffled"});
  rows.Add("parts", &options->parts, "numbers of partitions").Range(1, kMaxParts);
  rows.Add("against", &options->against, "the method that the others are compared with");
  rows.Add("balance", &options->balance, "what methods balance, as run's");
  rows.Add("seed", &options->seed, "of the methods and of the graphs that are made");
  rows.Add("nodes", &options->nodes, "of planted and hierarchical graphs");
  rows.Add("memory", &options->memory, "what a method may hold").DefaultText("no limit");
  rows.Add("predict", &options->predict, "also what `plan` says of the time");
  rows.Add("work", &options->work, "folder for graphs that are made; kept if given");
  rows.Add("json", &options->json, "writes all figures there");
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
  Program program("method_bench", "Compares partition methods.", "warning");
  Options options;
  options.work = fs::temp_directory_path() / fmt::format("halograph-method-bench-{}", getpid());
  AddOptions(program.options(), &options);
  program.Run([&] { return MakeAndBench(options, program.options().given("work")); });
  return program.Main(argc, argv);
}

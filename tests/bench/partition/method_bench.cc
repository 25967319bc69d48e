// How good partition methods are, and what they take: methods x graphs x partitions x order of the
// stream, each run in a process of its own. Prints a line a run, then the replication of one method
// against each other, compared only where both keep the balance (MethodResult::Balanced).
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/progress.h"
#include "common/base/units.h"
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

void AddOptions(CLI::App* app, Options* options) {
  app->add_option("--methods", options->methods,
                  "Comma-separated; with an owner rule as \"2ps-l:random\" (default: all)")
      ->delimiter(',');
  app->add_option("--graphs", options->graphs,
                  fmt::format("Comma-separated: {} (default: these), planted, hierarchical, or "
                              "paths of graphs",
                              fmt::join(RealGraphNames(), ", ")))
      ->delimiter(',');
  app->add_option("--orders", options->orders, "Order of the stream of edges: given, shuffled")
      ->delimiter(',')
      ->check(CLI::IsMember({"given", "shuffled"}));
  app->add_option("--parts", options->parts)->delimiter(',')->check(CLI::Range(1, kMaxParts));
  app->add_option("--against", options->against, "The method that the others are compared with")
      ->capture_default_str();
  app->add_option("--balance", options->balance, "What methods balance, as run's")
      ->capture_default_str();
  app->add_option("--seed", options->seed)->capture_default_str();
  app->add_option("--nodes", options->nodes, "Of planted and hierarchical graphs")
      ->capture_default_str();
  app->add_option("--memory", options->memory, "What a method may hold (default: no limit)");
  app->add_flag("--predict", options->predict, "Also what `plan` says of the time");
  app->add_option("--work", options->work, "Folder for graphs that are made; kept if given");
  app->add_option("--json", options->json, "Writes all figures there");
}

int Main(int argc, char** argv) {
  Options options;
  options.work = fs::temp_directory_path() / fmt::format("halograph-method-bench-{}", getpid());
  CLI::App app("Compares partition methods.");
  AddOptions(&app, &options);
  CLI11_PARSE(app, argc, argv);
#ifndef NDEBUG
  fmt::print(stderr, "WARNING: not an optimised build\n");
#endif
  Progress::Enable(false);
  Status status = InitLog("method_bench", "warning");
  const bool keep = app.get_option("--work")->count() > 0;
  if (status.ok()) status = MakeFolder(options.work);
  if (status.ok()) status = Bench(options);
  std::error_code ignored;
  if (!keep) fs::remove_all(options.work, ignored);
  if (!status.ok()) fmt::print(stderr, "method_bench: {}\n", ToString(status));
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) { return halograph::Main(argc, argv); }

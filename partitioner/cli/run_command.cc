#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include "common/base/units.h"
#include "partitioner/cli/command.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/write/partition_graph.h"

namespace halograph {
namespace {

struct RunOptions {
  PartitionRun run;
  std::string balance;
  std::string self_loops = "keep";
  std::string duplicates = "keep";
  const CLI::Option* quiet = nullptr;
};

std::string PeakMemory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return FormatBytes(int64_t{usage.ru_maxrss} * 1024);
}

Status PrintSummary(const PartitionRun& run, const PartitionSummary& summary) {
  HG_ASSIGN_OR_RETURN(const GraphSummary graph, InspectGraph(run.output));
  const EdgeCounts& edges = summary.graph.edges;
  fmt::print("{}", FormatTable(graph));
  fmt::print("edges read {}; self-loops {} kept, {} dropped; duplicates {} found, {} dropped\n",
             FormatCount(edges.read), FormatCount(edges.self_loops),
             FormatCount(edges.self_loops_dropped), FormatCount(edges.duplicates),
             FormatCount(edges.duplicates_dropped));
  if (!run.sampling_weights.empty()) {
    fmt::print("alias tables by {}; nodes with in-edges of weight 0 only: {}\n",
               fmt::join(run.sampling_weights, ", "), FormatCount(summary.graph.undrawable_nodes));
  }
  fmt::print("opened in {}, {} in {}, written in {}; peak memory {} (mapped files included)\n",
             FormatSeconds(summary.open_seconds), run.method, FormatSeconds(summary.assign_seconds),
             FormatSeconds(summary.write_seconds), PeakMemory());
  return OkStatus();
}

Status Run(RunOptions options) {
  PartitionRun& run = options.run;
  if (!options.balance.empty()) {
    HG_ASSIGN_OR_RETURN(run.options.balance, BalanceOptions::Parse(options.balance));
  }
  const auto policy = [](const std::string& word) {
    return word == "drop" ? EdgePolicy::kDrop : EdgePolicy::kKeep;
  };
  run.read.self_loops = policy(options.self_loops);
  run.read.duplicates = policy(options.duplicates);
  HG_ASSIGN_OR_RETURN(const PartitionSummary summary, PartitionGraph(run));
  return options.quiet->count() > 0 ? OkStatus() : PrintSummary(run, summary);
}

void AddInputOptions(CLI::App* command, RunOptions* options) {
  ReadOptions& read = options->run.read;
  command->add_option("--input", options->run.input, "Folder or file of the graph")->required();
  command->add_option("--format", read.format, "auto, graphbolt, ogb or edgelist")
      ->check(CLI::IsMember({"auto", "graphbolt", "ogb", "edgelist"}))
      ->capture_default_str();
  command->add_flag("--undirected", read.undirected, "Add the reverse of every edge");
  command->add_option("--self-loops", options->self_loops, "keep or drop")
      ->check(CLI::IsMember({"keep", "drop"}))
      ->capture_default_str();
  command->add_option("--duplicates", options->duplicates, "keep or drop parallel edges")
      ->check(CLI::IsMember({"keep", "drop"}))
      ->capture_default_str();
  command
      ->add_option("--num-nodes", read.num_nodes,
                   "Edge lists: ids are 0 .. N-1 (default: the distinct ids that occur)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--task", read.task, "OGB: name of the split folder, if there are several");
  command->add_flag("--allow-nan", options->run.allow_nan, "Take features with NaN as they are");
}

}  // namespace

void AddRunCommand(CLI::App* app, Action* action) {
  auto options = std::make_shared<RunOptions>();
  options->quiet = app->get_option("--quiet");
  PartitionRun& run = options->run;
  CLI::App* command = app->add_subcommand("run", "Partitions a graph");
  AddInputOptions(command, options.get());
  command->add_option("--output", run.output, "The partition folder to write")->required();
  command->add_option("--parts", run.options.parts, "Number of partitions")
      ->required()
      ->check(CLI::Range(1, kMaxParts));
  command->add_option("--method", run.method, "metis or random")
      ->check(CLI::IsMember(MethodNames()))
      ->capture_default_str();
  command
      ->add_option("--balance", options->balance,
                   "What to balance, of nodes,edges,train,valid,test (default: all)")
      ->check([](const std::string& list) {
        const auto parsed = BalanceOptions::Parse(list);
        return parsed.ok() ? std::string() : Message(parsed.status());
      });
  command
      ->add_option("--sampling-weights", run.sampling_weights,
                   "Edge features (one number an edge, comma-separated) that sampling can go by: "
                   "makes alias tables, 16 bytes an edge each")
      ->delimiter(',');
  command->add_option("--seed", run.options.seed, "Same seed, same partitioning")
      ->capture_default_str();
  command->add_flag("--force", run.replace, "Replace an existing output");
  command->callback([=] { *action = [=] { return Run(*options); }; });
}

}  // namespace halograph

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "partitioner/cli/command.h"
#include "partitioner/cli/shared_options.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/methods/owners/load_owners.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/plan/parts_choice.h"
#include "partitioner/run/partition_graph.h"

namespace halograph {
namespace {

constexpr char kAutoParts[] = "auto";

struct RunOptions {
  PartitionRun run;
  InputOptions input;
  MethodFlags flags;
  std::string parts;
  std::string memory_per_part;
  std::filesystem::path owners;
  const CLI::Option* quiet = nullptr;
};

std::string PeakMemory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return FormatBytes(int64_t{usage.ru_maxrss} * 1024);
}

// The method that auto chose, as its report says.
std::string ChosenMethod(const PartitionRun& run, const GraphSummary& graph) {
  const Json report = graph.options.value("report", Json::object());
  return report.value("method", run.method);
}

Status PrintSummary(const PartitionRun& run, const PartitionSummary& summary) {
  HG_ASSIGN_OR_RETURN(const GraphSummary graph, SummaryOf(summary.graph.manifest, run.output));
  const EdgeCounts& edges = summary.graph.edges;
  fmt::print("{}", FormatTable(graph));
  fmt::print("edges read {}; self-loops {} kept, {} dropped; duplicates {} found, {} dropped\n",
             FormatCount(edges.read), FormatCount(edges.self_loops),
             FormatCount(edges.self_loops_dropped), FormatCount(edges.duplicates),
             FormatCount(edges.duplicates_dropped));
  if (!run.sampling_weights.empty()) {
    fmt::print("sampling tables by {}; nodes whose in-edges all have weight 0: {}\n",
               fmt::join(run.sampling_weights, ", "), FormatCount(summary.graph.undrawable_nodes));
  }
  fmt::print("opened in {}, {} in {}, written in {}; peak memory {} (mapped files included)\n",
             FormatSeconds(summary.open_seconds), ChosenMethod(run, graph),
             FormatSeconds(summary.assign_seconds), FormatSeconds(summary.write_seconds),
             PeakMemory());
  return OkStatus();
}

StatusOr<int> PartsFromMemory(const Dataset& dataset, int64_t memory_per_part) {
  HG_ASSIGN_OR_RETURN(const PartsChoice choice,
                      ChooseParts(GraphSizes::Of(dataset), memory_per_part));
  spdlog::info("--parts auto: {}", choice.why);
  return choice.parts;
}

// Where the number of partitions comes from, if it is not given.
Status SetParts(const RunOptions& options, PartitionRun* run) {
  if (options.parts == kAutoParts) {
    HG_ASSIGN_OR_RETURN(const int64_t memory, ParseBytes(options.memory_per_part));
    run->choose_parts = [memory](const Dataset& dataset) {
      return PartsFromMemory(dataset, memory);
    };
  } else if (!options.parts.empty()) {
    run->options.parts = std::stoi(options.parts);  // checked when it was parsed
  } else {
    run->choose_parts = [path = options.owners](const Dataset& dataset) -> StatusOr<int> {
      HG_ASSIGN_OR_RETURN(const LoadedOwners loaded, LoadOwners(path, dataset, 0));
      return loaded.parts;
    };
  }
  return OkStatus();
}

Status Run(const RunOptions& options) {
  PartitionRun run = options.run;
  run.input = options.input.input;
  run.read = options.input.Read();
  run.options = options.flags.Options();
  run.memory = run.options.memory;
  HG_RETURN_IF_ERROR(SetParts(options, &run));
  if (!options.owners.empty()) {
    run.method = "owners";
    run.custom_method = std::make_shared<OwnersMethod>(options.owners);
  }
  HG_ASSIGN_OR_RETURN(const PartitionSummary summary, PartitionGraph(run));
  return options.quiet->count() > 0 ? OkStatus() : PrintSummary(run, summary);
}

std::string CheckPartsWord(const std::string& text) {
  int parts = 0;
  if (text == kAutoParts) return {};
  const bool number = CLI::detail::lexical_cast(text, parts) && parts >= 1 && parts <= kMaxParts;
  return number ? std::string()
                : fmt::format("expected 1 to {} or {}, got {}", kMaxParts, kAutoParts, text);
}

void AddPartsOptions(CLI::App* command, RunOptions* options) {
  command
      ->add_option("--parts", options->parts,
                   "Number of partitions, or auto: as few as fit --memory-per-part")
      ->check(CheckPartsWord);
  command
      ->add_option(
          "--memory-per-part", options->memory_per_part,
          "With --parts auto: memory of the machine that holds one partition, such as 16GiB")
      ->check(CheckBytes);
  command
      ->add_option("--method", options->run.method,
                   fmt::format("auto (METIS where it fits, else stream-metis) or {}",
                               fmt::join(MethodNames(), ", ")))
      ->check(CheckMethodName)
      ->capture_default_str();
  command->add_option("--owners", options->owners,
                      "Uses an existing assignment instead of a method: an .npy file, or a folder "
                      "with one .npy or .txt file per node type");
}

// Whether the method, which was checked by its name, can give the order.
Status CheckOrderOf(const RunOptions& options) {
  const NodeOrder order = NodeOrderOf(options.flags.order).value();
  if (!options.owners.empty()) return CheckOrder(OwnersMethod(options.owners), order);
  HG_ASSIGN_OR_RETURN(const auto method, MakeMethod(options.run.method));
  return CheckOrder(*method, order);
}

// What only several options together make wrong.
void RequireSense(const CLI::App& command, const RunOptions& options) {
  const bool owners = !options.owners.empty();
  if (options.parts.empty() && !owners) throw CLI::RequiredError("--parts");
  const bool automatic = options.parts == kAutoParts;
  if (automatic && owners) {
    throw CLI::ValidationError(
        "--parts auto cannot be used with --owners: the file gives the number of partitions");
  }
  if (automatic != (command.count("--memory-per-part") > 0)) {
    throw CLI::ValidationError(
        "--parts auto and --memory-per-part go together: give both or neither");
  }
  if (owners && command.count("--method") > 0) {
    throw CLI::ValidationError("--owners replaces --method: give only one of them");
  }
  const Status order = CheckOrderOf(options);
  if (!order.ok()) throw CLI::ValidationError(Message(order));
  RequireOptionsTaken(options.flags, {owners ? "--owners" : options.run.method});
}

}  // namespace

void AddRunCommand(CLI::App* app, Action* action) {
  auto options = std::make_shared<RunOptions>();
  options->quiet = app->get_option("--quiet");
  PartitionRun& run = options->run;
  CLI::App* command = app->add_subcommand("run", "Partitions a graph");
  AddInputOptions(command, &options->input)->required();
  command->add_flag("--allow-nan", run.allow_nan, "Accept features with NaN");
  command->add_option("--output", run.output, "The partition folder to write")->required();
  AddPartsOptions(command, options.get());
  AddMethodFlags(command, &options->flags);
  AddOrderFlag(command, &options->flags);
  command
      ->add_option("--sampling-weights", run.sampling_weights,
                   "Edge features (one number per edge; names comma-separated) for weighted "
                   "sampling: writes tables of 18 bytes per edge for each")
      ->delimiter(',');
  command->add_flag("--force", run.replace, "Replace an existing output");
  command->callback([=] {
    RequireSense(*command, *options);
    *action = [=] { return Run(*options); };
  });
}

}  // namespace halograph

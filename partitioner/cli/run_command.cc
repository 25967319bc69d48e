#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "partitioner/cli/command.h"
#include "partitioner/cli/shared_options.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/levels/batch_clusters.h"
#include "partitioner/levels/sub_parts.h"
#include "partitioner/methods/owners/load_owners.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/plan/parts_choice.h"
#include "partitioner/run/partition_graph.h"

namespace halograph {
namespace {

struct RunOptions {
  PartitionRun run;
  InputOptions input;
  MethodFlags flags;
  int parts = 0;                 // 0: not given
  bool parts_by_memory = false;  // --parts auto
  int64_t memory_per_part = 0;
  std::filesystem::path owners;
  bool halo_features = false;
  int hops = 1;
};

std::string PeakMemory() {
  rusage own{}, children{};  // METIS is a child
  ::getrusage(RUSAGE_SELF, &own);
  ::getrusage(RUSAGE_CHILDREN, &children);
  return FormatBytes(int64_t{std::max(own.ru_maxrss, children.ru_maxrss)} * 1024);
}

// The method that auto chose, as its report says.
std::string ChosenMethod(const PartitionRun& run, const GraphSummary& graph) {
  const Json report = graph.options.value("report", Json::object());
  return report.value("method", run.method);
}

Status PrintSummary(const PartitionRun& run, const PartitionSummary& summary) {
  HG_ASSIGN_OR_RETURN(const GraphSummary graph, SummaryOf(summary.graph.manifest, run.output));
  const EdgeCounts& edges = summary.graph.edges;
  Print("{}", FormatTable(graph));
  Print("edges read {}; self-loops {} kept, {} dropped; duplicates {} found, {} dropped\n",
        FormatCount(edges.read), FormatCount(edges.self_loops),
        FormatCount(edges.self_loops_dropped), FormatCount(edges.duplicates),
        FormatCount(edges.duplicates_dropped));
  if (!run.sampling_weights.empty()) {
    Print("sampling tables by {}; nodes whose in-edges all have weight 0: {}\n",
          fmt::join(run.sampling_weights, ", "), FormatCount(summary.graph.undrawable_nodes));
  }
  if (!summary.halos.empty()) Print("{}", HalosText(summary.halos));
  Print("opened in {}, {} in {}, written in {}; peak memory {} (mapped files included)\n",
        FormatSeconds(summary.open_seconds), ChosenMethod(run, graph),
        FormatSeconds(summary.assign_seconds), FormatSeconds(summary.write_seconds), PeakMemory());
  return OkStatus();
}

StatusOr<int> PartsFromMemory(const Dataset& dataset, int64_t memory_per_part) {
  HG_ASSIGN_OR_RETURN(const PartsChoice choice,
                      ChooseParts(GraphSizes::Of(dataset), memory_per_part));
  spdlog::info("--parts auto: {}", choice.why);
  return choice.parts;
}

// Where owners, and the number of partitions, come from.
void SetMethod(const RunOptions& options, PartitionRun* run) {
  run->options.parts = options.parts;
  if (options.parts_by_memory) {
    run->choose_parts = [memory = options.memory_per_part](const Dataset& dataset) {
      return PartsFromMemory(dataset, memory);
    };
  }
  if (options.owners.empty()) return;
  const auto owners = std::make_shared<OwnersMethod>(options.owners);
  run->method = "owners";
  run->custom_method = owners;
  if (options.parts == 0) {
    run->choose_parts = [owners](const Dataset& dataset) { return owners->Parts(dataset); };
  }
}

Status Run(const RunOptions& options, bool quiet) {
  PartitionRun run = options.run;
  run.input = options.input.input;
  run.read = options.input.read;
  run.options = options.flags.Options();
  run.memory = run.options.memory;
  run.halo_hops = options.halo_features ? options.hops : 0;
  SetMethod(options, &run);
  HG_ASSIGN_OR_RETURN(const PartitionSummary summary, PartitionGraph(run));
  return quiet ? OkStatus() : PrintSummary(run, summary);
}

void AddPartsRow(OptionTable& rows, RunOptions* options) {
  const auto read = [options](std::string_view text) -> Status {
    int parts = 0;
    OptionTable number;
    number.Add("parts", &parts, "").Range(1, kMaxParts);
    if (text != "auto" && !number.Set("parts", text).ok()) {
      return InvalidArgument("'{}' is not 1 to {} or auto", text, kMaxParts);
    }
    options->parts_by_memory = text == "auto";
    options->parts = parts;
    return OkStatus();
  };
  const auto write = [options] {
    if (options->parts_by_memory) return std::string("auto");
    return options->parts > 0 ? std::to_string(options->parts) : std::string();
  };
  rows.AddText("parts", read, write, fmt::format("1 to {}, or auto", kMaxParts),
               "number of partitions; auto: as few as fit --memory-per-part")
      .ValueName("N");
}

void AddMethodRows(OptionTable& rows, RunOptions* options) {
  rows.Group("Partitions");
  AddPartsRow(rows, options);
  rows.AddBytes("memory-per-part", &options->memory_per_part,
                "with --parts auto: memory of the machine that holds one partition")
      .DefaultText("");
  rows.Add("method", &options->run.method,
           fmt::format("auto (METIS where it fits, else stream-metis), or {}",
                       OrList(MethodNames())))
      .Check([](const std::string& name) { return MakeMethod(name).status(); })
      .ValueName("METHOD");
  rows.Add("owners", &options->owners,
           "uses an existing assignment instead of a method: an .npy file, or a folder with one "
           ".npy or .txt file per node type");
  rows.Add("trainers-per-part", &options->run.trainers_per_part,
           "divides each part so among the trainers of its machine: nodes are numbered sub-part by "
           "sub-part, in --order within each; 1: parts stay whole")
      .Range(1, kMaxTrainersPerPart)
      .ValueName("K");
  rows.Add(
          "batch-clusters", &options->run.batch_clusters,
          "makes N clusters in each part by METIS, whose bounds the folder keeps: nodes are "
          "numbered "
          "cluster by cluster, in --order within each; of N each sub-part gets its share by nodes, "
          "and a cluster is made of at least 8 nodes")
      .Range(1, kMaxBatchClusters)
      .DefaultText("")
      .ValueName("N");
}

// Whether the method, which was checked by its name, can give the order.
Status CheckOrderOf(const RunOptions& options) {
  const NodeOrder order = options.flags.options.order;
  if (!options.owners.empty()) return CheckOrder(OwnersMethod(options.owners), order);
  HG_ASSIGN_OR_RETURN(const auto method, MakeMethod(options.run.method));
  return CheckOrder(*method, order);
}

// Whether the parts of the method can be divided so.
Status CheckLevelsOf(const RunOptions& options) {
  if (options.run.batch_clusters > 0) {
    HG_RETURN_IF_ERROR(
        CheckBatchClusters(options.run.batch_clusters, options.run.trainers_per_part));
  }
  if (options.run.trainers_per_part == 1) return OkStatus();
  return MethodOfSubParts(options.owners.empty() ? options.run.method : "owners").status();
}

// What only several options together make wrong.
Status CheckSense(const OptionTable& rows, const RunOptions& options) {
  const bool owners = !options.owners.empty();
  const bool automatic = options.parts_by_memory;
  if (!rows.given("parts") && !owners) {
    return InvalidArgument("--parts is missing: give --parts N, or --owners");
  }
  if (automatic && owners) {
    return InvalidArgument(
        "--parts auto cannot be used with --owners: the file gives the number of partitions");
  }
  if (automatic != rows.given("memory-per-part")) {
    return InvalidArgument("--parts auto and --memory-per-part go together: give both or neither");
  }
  if (rows.given("hops") && !options.halo_features) {
    return InvalidArgument("--hops goes with --halo-features: give both, or neither");
  }
  if (owners && rows.given("method")) {
    return InvalidArgument("--owners replaces --method: give only one of them");
  }
  HG_RETURN_IF_ERROR(CheckOrderOf(options));
  HG_RETURN_IF_ERROR(CheckLevelsOf(options));
  return options.flags.CheckTaken({owners ? "--owners" : options.run.method});
}

}  // namespace

void AddRunCommand(Command& program, const GeneralFlags& general) {
  auto options = std::make_shared<RunOptions>();
  PartitionRun& run = options->run;
  Command& command = program.Add("run", "Partitions a graph.");
  OptionTable& rows = command.options();
  AddInputOptions(rows, &options->input).Required();
  rows.Add("allow-nan", &run.allow_nan, "accept features with NaN or infinite values");
  AddMethodRows(rows, options.get());
  AddMethodFlags(rows, &options->flags);
  AddOrderRow(rows, &options->flags);
  rows.Group("Output");
  rows.Add("output", &run.output, "partition folder to write").Required();
  rows.Add("force", &run.replace, "replace an existing output");
  AddFeatureDTypeRow(rows, &run.feature_dtype);
  AddHaloRows(rows, &options->halo_features, &options->hops);
  rows.Add("sampling-weights", &run.sampling_weights,
           "edge features, one number per edge, for weighted sampling: writes tables of 18 bytes "
           "per edge for each")
      .ValueName("FEATURE");
  command.Check([options, &rows] { return CheckSense(rows, *options); });
  command.Run([options, &general] { return Run(*options, general.quiet); });
}

}  // namespace halograph

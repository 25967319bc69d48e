#include <filesystem>

#include <fmt/format.h>

#include "partitioner/cli/command.h"
#include "partitioner/cli/shared_options.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/plan/run_plan.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

struct PlanFlags {
  ReportOptions report;
  PlanOptions plan;
  FeatureDType feature_dtype = FeatureDType::kInput;
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t feature_bytes = 0;
};

struct PlannedGraph {
  GraphSizes sizes;
  EdgeSample sample;
};

int64_t BytesIn(const fs::path& folder) {
  int64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  }
  return bytes;
}

// From the input where there is one, else from the numbers given.
StatusOr<PlannedGraph> GraphOf(const PlanFlags& flags, const fs::path& scratch) {
  PlannedGraph graph;
  const InputOptions& input = flags.report.input;
  if (input.input.empty()) {
    graph.sizes = GraphSizes::Of(flags.nodes, flags.edges, flags.feature_bytes);
    return graph;
  }
  ReadOptions read = input.read;
  read.scratch = scratch;
  HG_ASSIGN_OR_RETURN(Dataset dataset, OpenDataset(input.input, read));
  NarrowFeatures(flags.feature_dtype, {}, &dataset);
  HG_RETURN_IF_ERROR(CheckParts(dataset, flags.plan.method.parts));
  graph.sizes = GraphSizes::Of(dataset);
  HG_ASSIGN_OR_RETURN(graph.sample, SampleEdges(dataset));
  graph.sizes.decoded_bytes = BytesIn(scratch);
  return graph;
}

Status Plan(const PlanFlags& flags) {
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder, MakeScratch(flags.report.scratch, "plan"));
  PlanOptions options = flags.plan;
  options.method = flags.report.flags.Options();
  options.method.parts = flags.plan.method.parts;
  HG_ASSIGN_OR_RETURN(const PlannedGraph graph, GraphOf(flags, folder.path()));
  HG_ASSIGN_OR_RETURN(const RunPlan plan,
                      PlanRun(graph.sizes, graph.sample, options, folder.path()));
  PrintText(flags.report.json ? PrintableJson(ToJson(plan)) : FormatTable(plan));
  return OkStatus();
}

void AddSizeFlags(OptionTable& rows, PlanFlags* flags) {
  rows.Group("Counts, without --input");
  rows.Add("nodes", &flags->nodes, "number of nodes").Range(1, int64_t{1} << 48).DefaultText("");
  rows.Add("edges", &flags->edges, "number of directed edges")
      .Range(0, int64_t{1} << 48)
      .DefaultText("");
  rows.AddBytes("feature-bytes", &flags->feature_bytes, "bytes of one node's features");
}

// What only several options together make wrong.
Status CheckSense(const OptionTable& rows, const PlanFlags& flags) {
  const bool numbers = rows.given("nodes") || rows.given("edges") || rows.given("feature-bytes");
  if (rows.given("input") == numbers) {
    return InvalidArgument("give either --input, or --nodes and --edges");
  }
  if (numbers && !(rows.given("nodes") && rows.given("edges"))) {
    return InvalidArgument("give --nodes and --edges together");
  }
  if (numbers && rows.given("feature-dtype")) {
    return InvalidArgument(
        "--feature-dtype is for --input: --feature-bytes are those of the features as they will "
        "be");
  }
  return flags.report.flags.CheckTaken(flags.plan.methods);
}

}  // namespace

void AddPlanCommand(Command& program) {
  auto flags = std::make_shared<PlanFlags>();
  flags->plan.methods = MethodNames();
  Command& command = program.Add(
      "plan",
      "Estimates the memory, disk space and time of each method on a graph, from its counts, a "
      "sample of its edges, and a test of this machine that takes a few seconds.");
  OptionTable& rows = command.options();
  AddInputOptions(rows, &flags->report.input);
  AddSizeFlags(rows, flags.get());
  rows.Group("Plan");
  rows.Add("parts", &flags->plan.method.parts, "number of partitions")
      .Range(1, kMaxParts)
      .Required();
  rows.Add("methods", &flags->plan.methods, "methods to plan for")
      .OneOf(MethodNames())
      .ValueName("METHOD")
      .DefaultText("all");
  AddOrderRow(rows, &flags->report.flags);
  AddFeatureDTypeRow(rows, &flags->feature_dtype);
  AddReportOptions(rows, "folder for temporary files, on the disk that the run will write to",
                   &flags->report);
  command.Check([flags, &rows] { return CheckSense(rows, *flags); });
  command.PrintsItsWork();
  command.Run([flags] { return Plan(*flags); });
}

}  // namespace halograph

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/units.h"
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
  int64_t nodes = 0;
  int64_t edges = 0;
  std::string feature_bytes = "0";
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
    HG_ASSIGN_OR_RETURN(const int64_t feature_bytes, ParseBytes(flags.feature_bytes));
    graph.sizes = GraphSizes::Of(flags.nodes, flags.edges, feature_bytes);
    return graph;
  }
  ReadOptions read = input.Read();
  read.scratch = scratch;
  HG_ASSIGN_OR_RETURN(const Dataset dataset, OpenDataset(input.input, read));
  HG_RETURN_IF_ERROR(CheckParts(dataset, flags.plan.method.parts));
  graph.sizes = GraphSizes::Of(dataset);
  HG_ASSIGN_OR_RETURN(graph.sample, SampleEdges(dataset));
  graph.sizes.decoded_bytes = BytesIn(scratch);
  return graph;
}

Status Plan(const PlanFlags& flags) {
  HG_ASSIGN_OR_RETURN(const TemporaryFolder folder, flags.report.MakeScratch("plan"));
  PlanOptions options = flags.plan;
  options.method = flags.report.flags.Options();
  options.method.parts = flags.plan.method.parts;
  HG_ASSIGN_OR_RETURN(const PlannedGraph graph, GraphOf(flags, folder.path()));
  HG_ASSIGN_OR_RETURN(const RunPlan plan,
                      PlanRun(graph.sizes, graph.sample, options, folder.path()));
  fmt::print("{}", flags.report.json ? ToJson(plan).dump(2) + "\n" : FormatTable(plan));
  return OkStatus();
}

void AddSizeFlags(CLI::App* command, PlanFlags* flags) {
  command->add_option("--nodes", flags->nodes, "Without --input: number of nodes")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 48));
  command->add_option("--edges", flags->edges, "Without --input: number of directed edges")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 48));
  command
      ->add_option("--feature-bytes", flags->feature_bytes,
                   "Without --input: bytes of one node's features, such as 512")
      ->check(CheckBytes);
}

// What only several options together make wrong.
void RequireSense(const CLI::App& command, const PlanFlags& flags) {
  const bool input = command.count("--input") > 0;
  const bool numbers = command.count("--nodes") > 0 || command.count("--edges") > 0 ||
                       command.count("--feature-bytes") > 0;
  if (input == numbers) {
    throw CLI::ValidationError("give either --input, or --nodes and --edges");
  }
  if (numbers && (command.count("--nodes") == 0 || command.count("--edges") == 0)) {
    throw CLI::ValidationError("give --nodes and --edges together");
  }
  RequireOptionsTaken(flags.report.flags, flags.plan.methods);
}

}  // namespace

void AddPlanCommand(CLI::App* app, Action* action) {
  auto flags = std::make_shared<PlanFlags>();
  flags->plan.methods = MethodNames();
  CLI::App* command = app->add_subcommand(
      "plan",
      "Estimates the memory, disk space and time of each method on a graph, from its counts, a "
      "sample of its edges, and a test of this machine that takes a few seconds");
  AddInputOptions(command, &flags->report.input);
  AddSizeFlags(command, flags.get());
  command->add_option("--parts", flags->plan.method.parts, "Number of partitions")
      ->required()
      ->check(CLI::Range(1, kMaxParts));
  command->add_option("--methods", flags->plan.methods, "Comma-separated (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(MethodNames()));
  AddOrderFlag(command, &flags->report.flags);
  AddReportOptions(command, "Folder for temporary files, on the disk that the run will write to",
                   &flags->report);
  command->callback([=] {
    RequireSense(*command, *flags);
    *action = [=] { return Plan(*flags); };
  });
}

}  // namespace halograph

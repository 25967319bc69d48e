#include <filesystem>

#include "common/base/units.h"
#include "partitioner/cli/command.h"
#include "partitioner/cli/shared_options.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/inspect/task_report.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/write/schema_builder.h"

namespace halograph {
namespace {

struct InspectFlags {
  std::filesystem::path graph;
  InputOptions input;
  bool json = false;
};

Status InspectFolder(const InspectFlags& flags) {
  HG_ASSIGN_OR_RETURN(const GraphSummary summary, InspectGraph(flags.graph));
  PrintText(flags.json ? PrintableJson(ToJson(summary)) : FormatTable(summary));
  return OkStatus();
}

// Edges that a run streams; which of them are duplicates is known only when they are sorted.
StatusOr<int64_t> CountEdges(const InputRelation& relation) {
  if (relation.edges->exact()) return relation.edges->max_edges();
  int64_t count = 0;
  HG_RETURN_IF_ERROR(ForEachEdges(relation, fmt::format("counting {}", relation.triple()),
                                  [&count](const EdgeChunk& chunk) {
                                    count += static_cast<int64_t>(chunk.size());
                                    return OkStatus();
                                  }));
  return count;
}

StatusOr<Schema> SchemaOf(const Dataset& dataset) {
  std::vector<int64_t> edges;
  for (const InputRelation& relation : dataset.relations) {
    HG_ASSIGN_OR_RETURN(edges.emplace_back(), CountEdges(relation));
  }
  return BuildSchema(dataset, edges);
}

Json InputJson(const Dataset& dataset, const Schema& schema, const std::vector<LabelFacts>& labels,
               const std::vector<std::string>& warnings) {
  Json facts = Json::array();
  for (const LabelFacts& each : labels) facts.push_back(ToJson(each));
  return {{"name", dataset.name},
          {"format", dataset.format},
          {"schema", ToJson(schema)},
          {"labels", std::move(facts)},
          {"warnings", warnings}};
}

// What is to be partitioned: nothing is written but temporary files.
Status InspectInput(const InspectFlags& flags) {
  ReadOptions read = flags.input.read;
  // Only text needs it: what is missing is said then.
  const StatusOr<TemporaryFolder> scratch = MakeScratch(SystemScratch(), "inspect");
  if (scratch.ok()) read.scratch = scratch->path();
  HG_ASSIGN_OR_RETURN(const Dataset dataset, OpenDataset(flags.input.input, read));
  const std::vector<LabelFacts> labels = LabelsOf(dataset);
  std::vector<std::string> warnings = WarningsOf(dataset, labels);
  if (const Status wrong = CheckLabels(labels); !wrong.ok()) warnings.push_back(Message(wrong));
  HG_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(dataset));
  if (flags.json) {
    PrintText(PrintableJson(InputJson(dataset, schema, labels, warnings)));
    return OkStatus();
  }
  Print("input {}, format {}\n{}", dataset.name, dataset.format, DescribeSchema(schema));
  for (const LabelFacts& facts : labels) {
    Print("task {}, {} set: {}\n", facts.task, facts.set, ToText(facts));
  }
  for (const std::string& warning : warnings) Print("warning: {}\n", warning);
  return OkStatus();
}

}  // namespace

void AddInspectCommand(Command& program) {
  auto flags = std::make_shared<InspectFlags>();
  Command& command =
      program.Add("inspect",
                  "Shows what a partition folder holds and how good the partitioning is, or what "
                  "an input holds before it is partitioned.");
  OptionTable& rows = command.options();
  rows.Add("graph", &flags->graph, "partition folder");
  rows.Add("json", &flags->json, "print JSON instead of a table");
  AddInputOptions(rows, &flags->input);
  command.Check([&rows]() -> Status {
    const bool graph = rows.given("graph"), input = rows.given("input");
    if (!graph && !input) {
      return InvalidArgument(
          "--graph is missing: give --graph, or --input for what an input holds");
    }
    if (!graph || !input) return OkStatus();
    return InvalidArgument("--graph and --input cannot be used together: give one of them");
  });
  command.PrintsItsWork();
  command.Run(
      [flags] { return flags->graph.empty() ? InspectInput(*flags) : InspectFolder(*flags); });
}

}  // namespace halograph

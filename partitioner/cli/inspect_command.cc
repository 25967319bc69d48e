#include <filesystem>

#include "partitioner/cli/command.h"
#include "partitioner/inspect/inspect_graph.h"

namespace halograph {
namespace {

struct InspectOptions {
  std::filesystem::path graph;
  bool json = false;
};

Status Inspect(const InspectOptions& options) {
  HG_ASSIGN_OR_RETURN(const GraphSummary summary, InspectGraph(options.graph));
  fmt::print("{}", options.json ? ToJson(summary).dump(2) + "\n" : FormatTable(summary));
  return OkStatus();
}

}  // namespace

void AddInspectCommand(Command& program) {
  auto options = std::make_shared<InspectOptions>();
  Command& command = program.Add(
      "inspect", "Shows what a partition folder holds and how good the partitioning is.");
  OptionTable& rows = command.options();
  rows.Add("graph", &options->graph, "partition folder").Required();
  rows.Add("json", &options->json, "print JSON instead of a table");
  command.Run([options] { return Inspect(*options); });
}

}  // namespace halograph

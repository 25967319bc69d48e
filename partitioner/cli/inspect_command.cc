#include <string>

#include <fmt/core.h>

#include "partitioner/cli/command.h"
#include "partitioner/inspect/inspect_graph.h"

namespace halograph {
namespace {

struct InspectOptions {
  std::string graph;
  bool json = false;
};

Status Inspect(const InspectOptions& options) {
  HG_ASSIGN_OR_RETURN(const GraphSummary summary, InspectGraph(options.graph));
  fmt::print("{}", options.json ? ToJson(summary).dump(2) + "\n" : FormatTable(summary));
  return OkStatus();
}

}  // namespace

void AddInspectCommand(CLI::App* app, Action* action) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app->add_subcommand(
      "inspect", "Shows what a partition folder holds and how good the partitioning is");
  command->add_option("--graph", options->graph, "The partition folder")->required();
  command->add_flag("--json", options->json, "JSON instead of a table");
  command->callback([=] { *action = [=] { return Inspect(*options); }; });
}

}  // namespace halograph

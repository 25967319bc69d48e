#include <string>

#include <fmt/core.h>

#include "common/base/units.h"
#include "partitioner/cli/command.h"
#include "partitioner/verify/verify.h"

namespace halograph {
namespace {

struct VerifyCommand {
  std::string input;
  std::string graph;
  VerifyOptions options;
  const CLI::Option* quiet = nullptr;
};

Status RunVerify(const VerifyCommand& command) {
  HG_ASSIGN_OR_RETURN(const VerifyReport report,
                      Verify(command.input, command.graph, command.options));
  for (const std::string& difference : report.differences) fmt::print("{}\n", difference);
  if (!report.ok()) {
    return DataLoss(
        "{} does not match the graph in {}: {} differences; the first ones are listed above",
        command.graph, command.input, FormatCount(report.num_differences));
  }
  if (command.quiet->count() == 0) {
    fmt::print("{}: complete: {} nodes, {} edges, {} feature rows, {} task rows\n", command.graph,
               FormatCount(report.nodes), FormatCount(report.edges),
               FormatCount(report.feature_rows), FormatCount(report.task_rows));
  }
  return OkStatus();
}

}  // namespace

void AddVerifyCommand(CLI::App* app, Action* action) {
  auto verify = std::make_shared<VerifyCommand>();
  verify->quiet = app->get_option("--quiet");
  CLI::App* command = app->add_subcommand(
      "verify", "Checks that a partition folder holds every edge, feature and label of the input");
  command->add_option("--input", verify->input, "Folder or file that was partitioned")->required();
  command->add_option("--graph", verify->graph, "The partition folder")->required();
  command->add_option("--scratch", verify->options.scratch,
                      "Folder for temporary files (default: the system's)");
  command->callback([=] { *action = [=] { return RunVerify(*verify); }; });
}

}  // namespace halograph

#include <string>

#include "common/base/units.h"
#include "partitioner/cli/command.h"
#include "partitioner/cli/shared_options.h"
#include "partitioner/verify/verify.h"

namespace halograph {
namespace {

struct VerifyCommand {
  std::string input;
  std::string graph;
  VerifyOptions options;
};

Status RunVerify(const VerifyCommand& command, bool quiet) {
  VerifyOptions options = command.options;
  // Few inputs need it: those that do say what is wrong with the folder given.
  const StatusOr<TemporaryFolder> scratch = MakeScratch(options.scratch, "verify");
  if (scratch.ok()) options.scratch = scratch->path();
  HG_ASSIGN_OR_RETURN(const VerifyReport report, Verify(command.input, command.graph, options));
  for (const std::string& difference : report.differences) Print("{}\n", difference);
  if (!report.ok()) {
    return DataLoss(
        "{} does not match the graph in {}: {} differences; the first ones are listed above",
        command.graph, command.input, FormatCount(report.num_differences));
  }
  if (!quiet) {
    Print("{}: complete: {} nodes, {} edges, {} feature rows, {} task rows\n", command.graph,
          FormatCount(report.nodes), FormatCount(report.edges), FormatCount(report.feature_rows),
          FormatCount(report.task_rows));
  }
  return OkStatus();
}

}  // namespace

void AddVerifyCommand(Command& program, const GeneralFlags& general) {
  auto verify = std::make_shared<VerifyCommand>();
  Command& command = program.Add(
      "verify", "Checks that a partition folder holds every edge, feature and label of the input.");
  OptionTable& rows = command.options();
  verify->options.scratch = SystemScratch();
  rows.Add("input", &verify->input, "folder or file that was partitioned")
      .ValueName("PATH")
      .Required();
  rows.Add("graph", &verify->graph, "partition folder").ValueName("PATH").Required();
  rows.Add("scratch", &verify->options.scratch, "folder for temporary files");
  command.Run([verify, &general] { return RunVerify(*verify, general.quiet); });
}

}  // namespace halograph

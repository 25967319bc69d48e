#include "common/base/progress.h"
#include "common/program/program.h"
#include "common/storage/file.h"
#include "partitioner/cli/command.h"

namespace halograph {
namespace {

// A signal removes what the command has written so far, and then ends the process as it would have
// done at once.
void RemoveFilesOnSignals(StopSignal* stop) {
  stop->OnStop(
      [stop] { EndWithoutTemporaryFolders([stop] { StopSignal::EndProcessBy(stop->number()); }); });
}

}  // namespace

int PartitionMain(int argc, const char* const* argv) {
  Program program("halograph-partition", "Partitions graphs and looks at partitioned ones.");
  program.set_out_of_memory_advice(
      "give --memory, so that a method that needs more is refused before it starts");
  program.CatchStopSignals();
  GeneralFlags general;
  program.options().Group(kGeneralGroup);
  program.options().Add("quiet", &general.quiet, "no progress lines and no summary");
  program.Check([&] {
    if (general.quiet && !program.options().given("log-level")) program.set_log_level("warning");
    Progress::Enable(!general.quiet);
    RemoveFilesOnSignals(program.stop_signal());
    return OkStatus();
  });
  AddRunCommand(program.command(), general);
  AddGenerateCommand(program.command());
  AddVerifyCommand(program.command(), general);
  AddInspectCommand(program.command());
  AddHaloCommand(program.command(), general);
  AddCompareCommand(program);
  AddPlanCommand(program.command());
  return program.Main(argc, argv);
}

}  // namespace halograph

#include <filesystem>
#include <memory>

#include "partitioner/cli/command.h"
#include "partitioner/cli/shared_options.h"
#include "partitioner/halo/add_halo.h"

namespace halograph {
namespace {

struct HaloCommand {
  std::filesystem::path graph;
  HaloOptions options;
  int64_t memory = -1;  // below 0: not given
};

Status RunHalo(const HaloCommand& command, bool quiet) {
  HaloOptions options = command.options;
  options.memory = command.memory < 0 ? AvailableMemory() : command.memory;
  HG_ASSIGN_OR_RETURN(const auto halos, AddHalos(command.graph, options));
  if (!quiet) Print("{}", HalosText(halos));
  return OkStatus();
}

}  // namespace

void AddHaloCommand(Command& program, const GeneralFlags& general) {
  auto halo = std::make_shared<HaloCommand>();
  Command& command = program.Add(
      "halo",
      "Gives each part of a partition folder what it needs to be trained on without asking "
      "anybody.");
  OptionTable& rows = command.options();
  rows.Add("graph", &halo->graph, "partition folder, with all parts").ValueName("PATH").Required();
  AddHaloRows(rows, nullptr, &halo->options.hops);
  rows.Add("force", &halo->options.replace, "replace halos that are there");
  rows.AddBytes("memory", &halo->memory, "most memory to hold, without mapped files")
      .DefaultText("what is free");
  rows.AddChoice("verify", &halo->options.verify, VerifyLevelWords(),
                 "what is checked of the parts");
  command.Run([halo, &general] { return RunHalo(*halo, general.quiet); });
}

}  // namespace halograph

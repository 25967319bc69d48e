#include "trainer/run/own_state.h"

#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/storage/run_folder.h"
#include "trainer/checkpoint/files/checkpoint_folder.h"
#include "trainer/checkpoint/files/own_state.h"
#include "trainer/embeddings/rows/row_names.h"
#include "trainer/run/open_choices.h"

namespace halograph {
namespace {

// Whether the run learns rows and may keep them itself. What the options cannot be chosen by is
// said when they are chosen.
bool KeepsRows(const TrainOptions& options, const Schema& schema) {
  if (options.all_ranks() > 1 || options.part_only || options.average_every > 0) return false;
  const auto learnt = LearntTypesOf(options, schema);
  return learnt.ok() && !learnt->empty();
}

Status CheckThere(const std::filesystem::path& checkpoints, const std::filesystem::path& state) {
  std::error_code ignored;
  if (std::filesystem::exists(state, ignored)) return OkStatus();
  HG_ASSIGN_OR_RETURN(const auto there, ListCheckpoints(checkpoints));
  if (there.empty()) return OkStatus();
  return FailedPrecondition(
      "{}: has checkpoints, and {}, with the rows that belong to them, is not there: put it back, "
      "or give what the run kept them in, --state FOLDER or --servers; or begin anew with another "
      "--checkpoint",
      checkpoints.string(), state.string());
}

StatusOr<ChosenState> MakeOwnState(const TrainOptions& options) {
  StateFolderOptions own = options.state;
  own.sync = SyncLevel::kNever;
  const std::string& checkpoints = options.checkpoint.folder;
  if (!checkpoints.empty()) {
    own.folder = OwnStateOf(checkpoints);
    HG_RETURN_IF_ERROR(CheckThere(checkpoints, own.folder));
    spdlog::info("learnt inputs are kept in {}, with the checkpoints", own.folder.string());
    return ChosenState{ToStateOptions(own)};
  }
  auto made = RunFolder::Make(TemporaryParent());
  if (!made.ok()) {
    return Annotate(made.status(),
                    "a folder for learnt inputs (TMPDIR says where, --state DIR keeps them)");
  }
  const std::shared_ptr<const RunFolder> folder = *std::move(made);
  own.folder = folder->path() / "state";
  spdlog::info("learnt inputs are kept in {} until the run ends; --state DIR keeps them",
               own.folder.string());
  return ChosenState{ToStateOptions(own), folder};
}

}  // namespace

std::filesystem::path LastingStateOf(const TrainOptions& options) {
  if (!options.remote.servers.empty()) return {};
  if (!options.state.folder.empty()) return options.state.folder;
  if (options.checkpoint.folder.empty()) return {};
  return OwnStateOf(options.checkpoint.folder);
}

Status KeepNamesOfRows(const Session& session, const RunInputs& inputs,
                       const std::filesystem::path& state) {
  const std::vector<NodeType>& types = session.stores.graph->info().schema.node_types;
  std::vector<std::string> names;
  for (const LearntType& type : inputs.learnt) names.push_back(types[type.node_type].name);
  return KeepRowNames(state, session.stores, names, &session.cancel);
}

ChooseState ChooseStateOfTraining(const TrainOptions& options) {
  return [&options](const GraphInfo& graph) -> StatusOr<ChosenState> {
    if (!options.state.folder.empty()) return ChosenState{ToStateOptions(options.state)};
    if (!KeepsRows(options, graph.schema)) return ChosenState{};
    return MakeOwnState(options);
  };
}

}  // namespace halograph

#include "trainer/run/infer_rows.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/log.h"
#include "common/state/durable/system_env.h"
#include "trainer/checkpoint/files/own_state.h"
#include "trainer/embeddings/rows/rows_of_run.h"
#include "trainer/run/open_choices.h"
#include "trainer/run/own_state.h"

namespace halograph {
namespace {

// The state folder of the run; empty: nobody named one, and there is none with the checkpoints.
std::filesystem::path StateOfRun(const TrainOptions& options, const InferOptions& infer) {
  if (!options.state.folder.empty()) return options.state.folder;
  std::filesystem::path own = OwnStateOf(infer.checkpoint);
  std::error_code ignored;
  return std::filesystem::exists(own, ignored) ? own : std::filesystem::path();
}

StateOptions OptionsOfState(const TrainOptions& options, const InferOptions& infer) {
  StateFolderOptions of_run = options.state;
  of_run.folder = StateOfRun(options, infer);
  if (options.state.folder.empty()) of_run.sync = SyncLevel::kNever;
  return ToStateOptions(of_run);
}

const std::string& NameOf(const Session& session, const LearntType& type) {
  return session.stores.graph->info().schema.node_types[type.node_type].name;
}

Status NoRows(const Session& session, const std::string& type, const InferOptions& infer) {
  const TrainOptions& options = session.options;
  const std::string learnt = fmt::format("the model learnt inputs of node type '{}' (tensor '{}')",
                                         type, options.embeddings.name);
  if (options.remote.servers.empty() && options.all_ranks() > 1) {
    return FailedPrecondition(
        "{}, and with --graph they are read by one process of one rank: start one, not {}, or give "
        "--servers",
        learnt, options.all_ranks());
  }
  if (options.remote.servers.empty() && options.state.folder.empty()) {
    return FailedPrecondition(
        "{}, and {} is not there: give the --state folder of the run, or --servers that have it",
        learnt, OwnStateOf(infer.checkpoint).string());
  }
  return FailedPrecondition(
      "{}, and this store has none that were trained: give the servers or the --state folder of "
      "the run",
      learnt);
}

// Whether the stores have the tensor of each type. `trained`: and steps in it, which an import need
// not have.
Status CheckThere(Session& session, const RunInputs& inputs, const InferOptions& infer,
                  bool trained) {
  if (session.stores.admin == nullptr) {
    return NoRows(session, NameOf(session, inputs.learnt.front()), infer);
  }
  CallContext context{.cancel = &session.cancel};
  HG_ASSIGN_OR_RETURN(const auto states, session.stores.admin->List(context));
  for (const LearntType& type : inputs.learnt) {
    const TensorRef ref{false, NameOf(session, type), session.options.embeddings.name};
    const bool there =
        std::any_of(states.begin(), states.end(), [&](const MutableTensorState& state) {
          return state.spec.ref == ref && (state.step >= 0 || !trained);
        });
    if (!there) return NoRows(session, ref.type, infer);
  }
  return OkStatus();
}

Status TakeAtTheirWord(Session& session, const RunInputs& inputs, const InferOptions& infer,
                       const std::string& trained_graph) {
  const Status there = CheckThere(session, inputs, infer, /*trained=*/false);
  if (!there.ok()) {
    return Annotate(there,
                    "these servers have another graph than the run had (halograph-ctl state export "
                    "from the run's, and state import, bring rows to nodes of the same original "
                    "ids)");
  }
  spdlog::warn(
      "the learnt inputs are taken as these servers have them: they were learnt on graph {}, so "
      "they must have been imported, and a node that no row was imported for has the one that "
      "training begins with (--new-rows says nothing here)",
      trained_graph);
  return OkStatus();
}

Status TakeRowsOfRun(Session& session, const RunInputs& inputs, const InferOptions& infer,
                     const std::string& trained_graph) {
  const TrainOptions& options = session.options;
  const std::filesystem::path state = StateOfRun(options, infer);
  if (options.all_ranks() > 1 || state.empty()) {
    return NoRows(session, NameOf(session, inputs.learnt.front()), infer);
  }
  if (std::error_code ignored; !std::filesystem::exists(state, ignored)) {
    return NotFound("--state {}: no such folder; give that of the run", state.string());
  }
  RowsWanted wanted{.types = {},
                    .tensor = options.embeddings.name,
                    .identity = trained_graph,
                    .new_rows = infer.new_rows ? NewRows::kInit : NewRows::kRefuse};
  for (const LearntType& type : inputs.learnt) wanted.types.push_back(NameOf(session, type));
  HG_ASSIGN_OR_RETURN(RowsGiven given,
                      GiveRowsOfRun(OptionsOfState(options, infer), MakeSystemEnv(), wanted,
                                    session.stores, &session.cancel));
  session.stores = std::move(given.stores);
  spdlog::info("{} nodes have the rows that were learnt of their original ids, in {}{}", given.rows,
               state.string(),
               given.fresh == 0 ? "" : fmt::format("; {} have new ones", given.fresh));
  return CheckThere(session, inputs, infer, /*trained=*/true);
}

}  // namespace

ChooseState ChooseStateOfInference(const TrainOptions& options, const InferOptions& infer) {
  return [&options, &infer](const GraphInfo& graph) -> StatusOr<ChosenState> {
    const auto learnt =
        LearntTypesOf(options, graph.schema);  // its error is said when they are chosen
    if (!learnt.ok() || learnt->empty()) return ChosenState{ToStateOptions(options.state)};
    if (options.all_ranks() > 1) return ChosenState{};
    HG_ASSIGN_OR_RETURN(const TrainedAs trained, ReadTrainedAs(infer.checkpoint));
    if (trained.graph != graph.identity) return ChosenState{};
    // One that is not there, or empty, has no rows, which is said when they are looked for.
    const StateOptions state = OptionsOfState(options, infer);
    if (std::error_code error; !std::filesystem::is_empty(state.folder, error) && !error) {
      HG_RETURN_IF_ERROR(CheckPartsAreThere(state.folder, graph.book.num_parts()));
    }
    return ChosenState{state};
  };
}

Status FindLearntRows(Session& session, const RunInputs& inputs, const InferOptions& infer) {
  if (inputs.learnt.empty()) return OkStatus();
  HG_ASSIGN_OR_RETURN(const TrainedAs trained, ReadTrainedAs(infer.checkpoint));
  if (trained.graph == session.stores.graph->info().identity) {
    return CheckThere(session, inputs, infer, /*trained=*/true);
  }
  HG_RETURN_IF_ERROR(
      CheckFitsGraph(session, inputs, trained.graph, trained.trained_on, infer.checkpoint));
  if (!session.options.remote.servers.empty()) {
    return TakeAtTheirWord(session, inputs, infer, trained.graph);
  }
  return TakeRowsOfRun(session, inputs, infer, trained.graph);
}

void KeepLearntNames(const Session& session, const RunInputs& inputs, const InferOptions& infer) {
  const TrainOptions& options = session.options;
  if (inputs.learnt.empty() || !options.remote.servers.empty()) return;
  const auto trained = ReadTrainedAs(infer.checkpoint);
  if (!trained.ok() || trained->graph != session.stores.graph->info().identity) return;
  const Status kept = KeepNamesOfRows(session, inputs, StateOfRun(options, infer));
  if (!kept.ok()) spdlog::warn("{}", ToString(kept));
}

Status CheckFitsGraph(const Session& session, const RunInputs& inputs,
                      const std::string& trained_graph, const std::optional<TrainedOn>& trained_on,
                      const std::string& where) {
  const GraphInfo& info = session.stores.graph->info();
  if (trained_graph == info.identity) return OkStatus();
  if (trained_on.has_value()) {
    return CheckFits(
        *trained_on,
        DescribeGraph(info.schema, inputs.features, inputs.learnt, session.task->output_dim()),
        where);
  }
  return FailedPrecondition(
      "{}: the checkpoint is of graph {}, and this one is {}: give the graph that the run was "
      "given. (An older build wrote the checkpoint, which does not say what its weights depend "
      "on. Those that the run writes when it goes on with --resume can be used on other graphs)",
      where, trained_graph, info.identity);
}

void SayIfRowsAreOfAnotherMoment(const Session& session, const StoredCheckpoint& stored,
                                 WhichWeights loaded) {
  const auto& snapshot =
      loaded == WhichWeights::kBest ? stored.manifest.best_snapshot : stored.manifest.snapshot;
  if (session.learnt == nullptr || !snapshot.has_value()) return;
  if (session.learnt->next_step() == snapshot->next_step) return;
  // Imported ones need not have steps, and were warned of.
  const bool imported = !session.options.remote.servers.empty() &&
                        stored.manifest.run.graph != session.stores.graph->info().identity;
  if (imported) return;
  spdlog::warn(
      "the learnt inputs in this store are of step {}, and the weights in {} are of step {}: what "
      "comes out is of neither. To have inputs of step {}, run halograph-ctl state restore --name "
      "{}, then this again",
      session.learnt->next_step(), stored.folder.string(), snapshot->next_step, snapshot->next_step,
      snapshot->name);
}

}  // namespace halograph

#include "trainer/run/infer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/base/stopwatch.h"
#include "common/base/units.h"
#include "common/program/program.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/inference/exact.h"
#include "trainer/inference/node_list.h"
#include "trainer/output/prediction_file.h"
#include "trainer/run/frame.h"
#include "trainer/run/prepare.h"
#include "trainer/run/report.h"
#include "trainer/training/evaluation.h"

namespace halograph {
namespace {

// What the command tells its user at its end, and writes into the log.
struct Outcome {
  std::string table;
  Json final = {{"final", true}};

  void Line(std::string_view name, std::string_view value) {
    table += fmt::format("{:<28} {:>14}\n", name, value);
  }
};

// Rows that the checkpoint's weights go with are in no checkpoint file but in the store.
Status CheckLearntInputs(Session& session, const RunInputs& inputs) {
  if (inputs.learnt.empty()) return OkStatus();
  CallContext context{.cancel = &session.cancel};
  HG_ASSIGN_OR_RETURN(const auto states, session.stores.kv->ListTensors(context));
  const Schema& schema = session.stores.graph->info().schema;
  for (const LearntType& type : inputs.learnt) {
    const std::string& name = schema.node_types[type.node_type].name;
    const bool trained =
        std::any_of(states.begin(), states.end(), [&](const MutableTensorState& state) {
          return !state.spec.ref.edge && state.spec.ref.type == name &&
                 state.spec.ref.name == session.options.embeddings.name && state.step >= 0;
        });
    if (trained) continue;
    return FailedPrecondition(
        "the model learnt inputs of node type '{}' (tensor '{}'), and this store has none that "
        "were trained: give the servers or the --state folder of the run",
        name, session.options.embeddings.name);
  }
  return OkStatus();
}

// A checkpoint's files have the weights, and the store has the rows, maybe of another moment.
void SayIfRowsAreOfAnotherMoment(const Session& session, const StoredCheckpoint& stored,
                                 WhichWeights loaded) {
  const auto& snapshot =
      loaded == WhichWeights::kBest ? stored.manifest.best_snapshot : stored.manifest.snapshot;
  if (session.learnt == nullptr || !snapshot.has_value()) return;
  if (session.learnt->next_step() == snapshot->next_step) return;
  spdlog::warn(
      "the learnt inputs of this store are those after {} pushes, and the weights of {} belong to "
      "those after {}: the store has them if it is set back (halograph-ctl state restore --name "
      "{})",
      session.learnt->next_step(), stored.folder.string(), snapshot->next_step, snapshot->name);
}

Status LoadCheckpoint(Session& session, const InferOptions& infer) {
  HG_ASSIGN_OR_RETURN(const StoredCheckpoint stored, ReadNewestCheckpoint(infer.checkpoint));
  const std::string& identity = session.stores.graph->info().identity;
  if (stored.manifest.run.graph != identity) {
    return FailedPrecondition("{}: the checkpoint is of graph {}, and this one is {}",
                              stored.folder.string(), stored.manifest.run.graph, identity);
  }
  const WhichWeights wanted = infer.last_weights ? WhichWeights::kLast : WhichWeights::kBest;
  HG_ASSIGN_OR_RETURN(const WhichWeights loaded,
                      LoadWeights(stored, wanted, *session.model, *session.task));
  if (loaded != wanted) {
    spdlog::warn("{}: no epoch had been evaluated yet; taking the weights of its moment",
                 stored.folder.string());
  }
  SayIfRowsAreOfAnotherMoment(session, stored, loaded);
  return OkStatus();
}

// The node type that predictions are of.
StatusOr<int> PredictedType(const Session& session) {
  const std::vector<int> types = session.task->predicted_types();
  if (types.size() == 1) return types.front();
  return Unimplemented(
      "infer: task '{}' is about nodes of {} types, and infer writes one file of one type; train "
      "with --predict, which writes a file for each",
      session.task->name(), types.size());
}

// The nodes that --nodes names.
StatusOr<std::unique_ptr<SeedSource>> NodesOf(Session& session, const InferOptions& infer,
                                              int type) {
  const auto& book = session.stores.graph->info().book;
  if (infer.nodes == kAllNodes) {
    return std::make_unique<NodeRange>(type, book.NodeBoundaries(type));
  }
  HG_ASSIGN_OR_RETURN(std::vector<int64_t> originals, ReadNodeList(infer.nodes));
  HG_ASSIGN_OR_RETURN(std::vector<int64_t> nodes,
                      FindNodes(*session.stores.kv, type, std::move(originals), &session.cancel));
  return std::make_unique<NodeSeeds>(type, std::move(nodes));
}

std::filesystem::path ScratchFolder(const TrainOptions& options, const InferOptions& infer) {
  if (!infer.scratch.empty()) return infer.scratch;
  const auto parent = std::filesystem::path(options.predict).parent_path();
  return parent.empty() ? "." : parent;
}

ExactOptions ExactOptionsOf(const InferOptions& infer) { return {.memory = infer.memory}; }

// All chunks' predictions, appended to the spool.
StatusOr<ExactFigures> PredictExactly(Session& session, const ExactOptions& options,
                                      const SeedSource& nodes, int type, ScratchSpace& scratch,
                                      PredictionSpool& spool) {
  std::vector<int64_t> originals;
  const auto use = [&](const std::vector<torch::Tensor>& rows, PreparedBatch& chunk) -> Status {
    originals.resize(static_cast<size_t>(chunk.rows));
    HG_RETURN_IF_ERROR(PullOriginalIds(session, chunk, &session.cancel, originals));
    const torch::Tensor values = PredictionsOf(session, rows, chunk).contiguous();
    return spool.Append(originals, {static_cast<const std::byte*>(values.data_ptr()),
                                    static_cast<size_t>(values.nbytes())});
  };
  return InferExactly(session, options,
                      PredictsOfEmbed(session) ? ExactRows::kEmbeddings : ExactRows::kOutputs,
                      nodes, std::vector{type}, scratch, use);
}

StatusOr<Outcome> Infer(Session& session, const InferOptions& infer) {
  const TrainOptions& options = session.options;
  HG_ASSIGN_OR_RETURN(const int type, PredictedType(session));
  std::unique_ptr<SeedSource> listed;
  const SeedSource* nodes = nullptr;
  if (infer.nodes == kTestNodes) {
    nodes = session.task->source(BatchPurpose::kTest);
    if (nodes == nullptr || session.task->predicts_outputs()) {
      return InvalidArgument("--nodes test: task '{}' has no test set of nodes",
                             session.task->name());
    }
  } else {
    HG_ASSIGN_OR_RETURN(listed, NodesOf(session, infer, type));
    nodes = listed.get();
  }
  const Stopwatch watch;
  ScratchSpace scratch(ScratchMemory(infer.memory), ScratchFolder(options, infer));
  PredictionSpool spool(options.predict_what, PredictionColumns(session), nodes->rows(), &scratch);
  Outcome outcome;
  if (infer.exact) {
    ExactOptions exact = ExactOptionsOf(infer);
    exact.scratch_after = spool.bytes();
    HG_ASSIGN_OR_RETURN(const ExactFigures figures,
                        PredictExactly(session, exact, *nodes, type, scratch, spool));
    outcome.final["exact"] = figures.ToJson();
  } else {
    HG_RETURN_IF_ERROR(scratch.Check(std::vector{spool.bytes()}));
    const auto take = [&](std::span<const int64_t> ids, std::span<const int64_t> /*types*/,
                          std::span<const std::byte> rows) { return spool.Append(ids, rows); };
    HG_RETURN_IF_ERROR(Predict(session, *nodes, take));
  }
  outcome.final["nodes"] = nodes->rows();
  outcome.final["infer_s"] = watch.Seconds();
  if (options.rank == 0) HG_RETURN_IF_ERROR(spool.Write(options.predict));
  outcome.Line("nodes", FormatCount(nodes->rows()));
  outcome.Line("inference", infer.exact ? "exact" : "by sampling");
  outcome.Line("seconds", fmt::format("{:.3f}", watch.Seconds()));
  outcome.Line("file", options.predict);
  return outcome;
}

// By the last layer's rows of all nodes of the set.
StatusOr<Evaluation> EvaluateExactly(Session& session, const InferOptions& infer,
                                     BatchPurpose purpose) {
  std::vector<int> types(session.stores.graph->info().schema.node_types.size());
  std::iota(types.begin(), types.end(), 0);
  const PassOverRows pass = [&](const SeedSource& source, const UseOutputs& use) -> StatusOr<bool> {
    ScratchSpace scratch(ScratchMemory(infer.memory), ScratchFolder(session.options, infer));
    const auto figures =
        InferExactly(session, ExactOptionsOf(infer), ExactRows::kOutputs, source, types, scratch,
                     [&](const std::vector<torch::Tensor>& rows, PreparedBatch& chunk) {
                       use(rows, chunk);
                       return OkStatus();
                     });
    HG_RETURN_IF_ERROR(figures.status());
    return false;
  };
  return EvaluateBy(session, purpose, pass);
}

StatusOr<Outcome> Measure(Session& session, const InferOptions& infer) {
  if (infer.exact && session.task->predicts_outputs()) {
    return InvalidArgument(
        "--exact: task '{}' is about edges, and is measured by sampling: leave the option out",
        session.task->name());
  }
  const Metric& metric = session.task->metric();
  const Stopwatch watch;
  Outcome outcome;
  for (const auto& [purpose, key, name] : {std::tuple{BatchPurpose::kValid, "valid", "validation"},
                                           std::tuple{BatchPurpose::kTest, "test", "test"}}) {
    HG_ASSIGN_OR_RETURN(const Evaluation evaluation, infer.exact
                                                         ? EvaluateExactly(session, infer, purpose)
                                                         : Evaluate(session, purpose));
    if (evaluation.stopped) return Cancelled("stopped by a signal");
    const auto add = [&](std::string_view of, std::string_view label, double value) {
      outcome.final[fmt::format("{}_{}", key, of)] = value;
      outcome.Line(fmt::format("{} {}", name, label),
                   std::isnan(value) ? "none" : fmt::format("{:.4f}", value));
    };
    if (!evaluation.figures.has_value()) {
      outcome.final[fmt::format("{}_{}", key, metric.key)] = nullptr;
      outcome.Line(fmt::format("{} {}", name, metric.label), "none");
      continue;
    }
    add(metric.key, metric.label, evaluation.figures->metric);
    for (const MetricValue& more : evaluation.figures->more) add(more.key, more.key, more.value);
    add("loss", "loss", evaluation.figures->loss);
  }
  outcome.final["eval_s"] = watch.Seconds();
  return outcome;
}

Status RunCommandOf(TrainCommand command, const InferOptions& infer, Session& session,
                    TrainLog& log) {
  RunInputs inputs;
  HG_RETURN_IF_ERROR(Prepare(session, &inputs));
  HG_RETURN_IF_ERROR(CheckLearntInputs(session, inputs));
  HG_RETURN_IF_ERROR(OpenLearntInputs(session, inputs));
  const bool first = session.options.rank == 0;
  if (first) HG_RETURN_IF_ERROR(log.Write(ConfigLine(session, inputs.features, inputs.learnt)));
  HG_RETURN_IF_ERROR(MakeModel(session, inputs));
  HG_RETURN_IF_ERROR(LoadCheckpoint(session, infer));
  HG_ASSIGN_OR_RETURN(const Outcome outcome, command == TrainCommand::kInfer
                                                 ? Infer(session, infer)
                                                 : Measure(session, infer));
  if (!first) return OkStatus();
  HG_RETURN_IF_ERROR(log.Write(outcome.final));
  PrintText(infer.json ? PrintableJson(outcome.final) + "\n" : outcome.table);
  std::fflush(stdout);
  return OkStatus();
}

}  // namespace

Status RunInference(TrainCommand command, const TrainOptions& options, const InferOptions& infer,
                    StopSignal& stop) {
  if (options.rank == 0 && !options.predict.empty()) {
    HG_RETURN_IF_ERROR(CheckPredictionPath(options.predict));
  }
  TrainLog log;
  if (options.rank == 0) {
    HG_ASSIGN_OR_RETURN(log, TrainLog::Create(options.log));
  }
  TrainOptions resolved = options;
  resolved.embeddings.begin = EmbedBegin::kContinue;
  return RunInFrame(resolved, stop, command == TrainCommand::kInfer ? "inferring" : "evaluating",
                    log, [&](Session& session) {
                      return UnlessStopped(session, RunCommandOf(command, infer, session, log));
                    });
}

}  // namespace halograph

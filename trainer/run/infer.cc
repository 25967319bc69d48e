#include "trainer/run/infer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <tuple>
#include <vector>

#include "common/base/log.h"
#include "common/base/stopwatch.h"
#include "common/base/units.h"
#include "common/program/program.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/inference/exact.h"
#include "trainer/output/prediction_file.h"
#include "trainer/run/frame.h"
#include "trainer/run/infer_nodes.h"
#include "trainer/run/infer_rows.h"
#include "trainer/run/prepare.h"
#include "trainer/run/report.h"
#include "trainer/run/stores.h"
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

// The log says so where it is another graph.
Status CheckGraph(const Session& session, const RunInputs& inputs, const StoredCheckpoint& stored) {
  const std::string& here = session.stores.graph->info().identity;
  const CheckpointManifest& manifest = stored.manifest;
  const std::string where = stored.folder.string();
  HG_RETURN_IF_ERROR(
      CheckFitsGraph(session, inputs, manifest.run.graph, manifest.trained_on, where));
  if (manifest.run.graph == here) return OkStatus();
  spdlog::info("{}: the weights were trained on graph {}, and are used on another one, {}", where,
               manifest.run.graph, here);
  return OkStatus();
}

StatusOr<StoredCheckpoint> LoadCheckpoint(Session& session, const RunInputs& inputs,
                                          const InferOptions& infer, WhichWeights* loaded) {
  HG_ASSIGN_OR_RETURN(StoredCheckpoint stored, ReadNewestCheckpoint(infer.checkpoint));
  HG_RETURN_IF_ERROR(CheckGraph(session, inputs, stored));
  const WhichWeights wanted = infer.last_weights ? WhichWeights::kLast : WhichWeights::kBest;
  HG_ASSIGN_OR_RETURN(*loaded, LoadWeights(stored, wanted, *session.model, *session.task));
  if (*loaded != wanted) {
    spdlog::warn(
        "{}: the run had evaluated nothing yet, so that it has no best weights: using its "
        "last ones",
        stored.folder.string());
  }
  SayIfRowsAreOfAnotherMoment(session, stored, *loaded);
  return stored;
}

// Gives all ranks the weights that rank 0 reads: while a run writes checkpoints, the newest may be
// another one for each. `final` of rank 0 gets what it was.
Status TakeWeights(Session& session, const RunInputs& inputs, const InferOptions& infer,
                   Json* final) {
  if (session.options.rank == 0) {
    WhichWeights loaded = WhichWeights::kLast;
    HG_ASSIGN_OR_RETURN(const StoredCheckpoint stored,
                        LoadCheckpoint(session, inputs, infer, &loaded));
    (*final)["checkpoint"] = stored.folder.string();
    (*final)["weights"] = loaded == WhichWeights::kBest ? "best" : "last";
  }
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> weights = session.Parameters();
  for (const torch::Tensor& buffer : session.model->buffers()) weights.push_back(buffer);
  for (const torch::Tensor& weight : weights) {
    if (weight.numel() == 0) continue;
    HG_RETURN_IF_ERROR(
        session.ranks->Broadcast(weight.detach(), "sharing the weights of the checkpoint"));
  }
  return OkStatus();
}

std::filesystem::path ScratchFolder(const TrainOptions& options, const InferOptions& infer) {
  if (!infer.scratch.empty()) return infer.scratch;
  const auto parent = std::filesystem::path(options.predict).parent_path();
  return parent.empty() ? "." : parent;
}

ExactOptions ExactOptionsOf(const InferOptions& infer) { return {.memory = infer.memory}; }

// All chunks' predictions, appended to the files.
StatusOr<ExactFigures> PredictExactly(Session& session, const ExactOptions& options,
                                      const NodesToInfer& nodes, ScratchSpace& scratch,
                                      PredictionFiles& files) {
  std::vector<int64_t> originals, types;
  const auto use = [&](const std::vector<torch::Tensor>& rows, Step& chunk) -> Status {
    originals.resize(static_cast<size_t>(chunk.rows));
    HG_RETURN_IF_ERROR(PullOriginalIds(session, chunk, &session.cancel, originals));
    types.clear();
    for (size_t list = 0; list < chunk.seed_types.size(); ++list) {
      types.insert(types.end(), chunk.minibatch.seed_positions[list].size(),
                   chunk.seed_types[list]);
    }
    const torch::Tensor values = PredictionsOf(session, rows, chunk).contiguous();
    return files.Append(
        originals, types,
        {static_cast<const std::byte*>(values.data_ptr()), static_cast<size_t>(values.nbytes())});
  };
  return InferExactly(session, options,
                      PredictsOfEmbed(session) ? ExactRows::kEmbeddings : ExactRows::kOutputs,
                      *nodes.passes.front(), nodes.pass_types, scratch, use);
}

Status Infer(Session& session, const InferOptions& infer, Outcome* outcome) {
  const TrainOptions& options = session.options;
  HG_ASSIGN_OR_RETURN(const NodesToInfer nodes, ChooseNodes(session, infer));
  const Stopwatch watch;
  ScratchSpace scratch(ScratchMemory(infer.memory), ScratchFolder(options, infer));
  PredictionFiles files(session, nodes, &scratch);
  if (options.rank == 0) HG_RETURN_IF_ERROR(files.CheckDisk());
  if (infer.exact) {
    ExactOptions exact = ExactOptionsOf(infer);
    exact.scratch_after = files.bytes();
    HG_ASSIGN_OR_RETURN(const ExactFigures figures,
                        PredictExactly(session, exact, nodes, scratch, files));
    outcome->final["exact"] = figures.ToJson();
  } else {
    HG_RETURN_IF_ERROR(scratch.Check(std::vector{files.bytes()}));
    const auto take = [&](std::span<const int64_t> ids, std::span<const int64_t> types,
                          std::span<const std::byte> rows) {
      return files.Append(ids, types, rows);
    };
    for (const SeedSource* const source : nodes.passes) {
      HG_RETURN_IF_ERROR(Predict(session, *source, take));
    }
  }
  if (options.rank == 0) HG_RETURN_IF_ERROR(files.Write());
  outcome->final["nodes"] = files.rows();
  outcome->final["infer_s"] = watch.Seconds();
  outcome->Line("nodes", FormatCount(files.rows()));
  outcome->Line("inference", infer.exact ? "exact" : "by sampling");
  outcome->Line("seconds", fmt::format("{:.3f}", watch.Seconds()));
  for (const PredictionFiles::File& file : files.files()) {
    outcome->final["files"].push_back(file.path);
    outcome->Line("file", file.path);
  }
  return OkStatus();
}

// By the last layer's rows of all nodes of the set. `told` gets what the inference came to.
StatusOr<Evaluation> EvaluateExactly(Session& session, const InferOptions& infer,
                                     BatchPurpose purpose, Json* told) {
  std::vector<int> types(session.stores.graph->info().schema.node_types.size());
  std::iota(types.begin(), types.end(), 0);
  const PassOverRows pass = [&](const SeedSource& source, const UseOutputs& use) -> StatusOr<bool> {
    ScratchSpace scratch(ScratchMemory(infer.memory), ScratchFolder(session.options, infer));
    const auto figures =
        InferExactly(session, ExactOptionsOf(infer), ExactRows::kOutputs, source, types, scratch,
                     [&](const std::vector<torch::Tensor>& rows, Step& chunk) {
                       use(rows, chunk);
                       return OkStatus();
                     });
    HG_RETURN_IF_ERROR(figures.status());
    *told = figures->ToJson();
    return false;
  };
  return EvaluateBy(session, purpose, pass);
}

Status Measure(Session& session, const InferOptions& infer, Outcome* outcome) {
  if (infer.exact && session.task->predicts_outputs()) {
    return InvalidArgument(
        "--exact: task '{}' is about edges, and is measured by sampling: leave the option out",
        session.task->name());
  }
  const Metric& metric = session.task->metric();
  const Stopwatch watch;
  for (const auto& [purpose, key, name] : {std::tuple{BatchPurpose::kValid, "valid", "validation"},
                                           std::tuple{BatchPurpose::kTest, "test", "test"}}) {
    HG_ASSIGN_OR_RETURN(
        const Evaluation evaluation,
        infer.exact ? EvaluateExactly(session, infer, purpose, &outcome->final["exact"][key])
                    : Evaluate(session, purpose));
    if (evaluation.stopped) return Cancelled("stopped by a signal");
    const auto add = [&](std::string_view of, std::string_view label, double value) {
      outcome->final[fmt::format("{}_{}", key, of)] = value;
      outcome->Line(fmt::format("{} {}", name, label),
                    std::isnan(value) ? "none" : fmt::format("{:.4f}", value));
    };
    if (!evaluation.figures.has_value()) {
      outcome->final[fmt::format("{}_{}", key, metric.key)] = nullptr;
      outcome->Line(fmt::format("{} {}", name, metric.label), "none");
      continue;
    }
    add(metric.key, metric.label, evaluation.figures->metric);
    for (const MetricValue& more : evaluation.figures->more) add(more.key, more.key, more.value);
    add("loss", "loss", evaluation.figures->loss);
  }
  outcome->final["eval_s"] = watch.Seconds();
  return OkStatus();
}

Status RunCommandOf(TrainCommand command, const InferOptions& infer, Session& session,
                    TrainLog& log) {
  RunInputs inputs;
  HG_RETURN_IF_ERROR(Prepare(session, &inputs, &infer));
  HG_RETURN_IF_ERROR(FindLearntRows(session, inputs, infer));
  HG_RETURN_IF_ERROR(OpenLearntInputs(session, inputs));
  KeepLearntNames(session, inputs, infer);
  const bool first = session.options.rank == 0;
  if (first) HG_RETURN_IF_ERROR(log.Write(ConfigLine(session, inputs.features, inputs.learnt)));
  HG_RETURN_IF_ERROR(MakeModel(session, inputs));
  session.metrics->SetPhase(command == TrainCommand::kInfer ? RunPhase::kInferring
                                                            : RunPhase::kEvaluating);
  Outcome outcome;
  HG_RETURN_IF_ERROR(TakeWeights(session, inputs, infer, &outcome.final));
  HG_RETURN_IF_ERROR(command == TrainCommand::kInfer ? Infer(session, infer, &outcome)
                                                     : Measure(session, infer, &outcome));
  if (!first) return OkStatus();
  HG_RETURN_IF_ERROR(log.Write(outcome.final));
  PrintText(infer.json ? PrintableJson(outcome.final) + "\n" : outcome.table);
  static_cast<void>(FlushStdout());
  return OkStatus();
}

}  // namespace

Status RunInference(TrainCommand command, const TrainOptions& given, const InferOptions& infer,
                    StopSignal& stop) {
  HG_ASSIGN_OR_RETURN(const TrainOptions options, WithOpenTls(given));
  if (options.rank == 0 && !options.predict.empty()) {
    HG_RETURN_IF_ERROR(CheckPredictionPath(options.predict));
  }
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<RunPort> port, RunPort::Open(options));
  TrainLog log;
  if (options.rank == 0) {
    HG_ASSIGN_OR_RETURN(log, TrainLog::Create(options.log));
  }
  TrainOptions resolved = options;
  resolved.embeddings.begin = EmbedBegin::kContinue;
  // Full batches would bring all nodes into each chunk.
  if (infer.exact) resolved.tasks.node.full_batch = false;
  return RunInFrame(resolved, stop, command == TrainCommand::kInfer ? "inferring" : "evaluating",
                    log, *port, [&](Session& session) {
                      return UnlessStopped(session, RunCommandOf(command, infer, session, log));
                    });
}

}  // namespace halograph

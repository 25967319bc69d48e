#include "trainer/run/run.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/progress.h"
#include "common/base/stopwatch.h"
#include "common/base/units.h"
#include "common/program/program.h"
#include "common/sampling/sampler_plan.h"
#include "trainer/distributed/gradients.h"
#include "trainer/kernels/bf16_product.h"
#include "trainer/launch/blas.h"
#include "trainer/models/registry.h"
#include "trainer/output/prediction_file.h"
#include "trainer/output/train_log.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/run/report.h"
#include "trainer/tasks/registry.h"
#include "trainer/torch/tensor_pool.h"
#include "trainer/training/evaluation.h"
#include "trainer/training/session.h"
#include "trainer/training/torch_error.h"
#include "trainer/training/training_loop.h"

namespace halograph {
namespace {

void SetThreads(const TrainOptions& options) {
  at::set_num_threads(options.threads);
  // One operation at a time: the pipeline's threads are the parallelism beside it.
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
}

// What the model takes in.
struct Inputs {
  std::vector<NodeInput> features;
  std::vector<LearntType> learnt;
};

StatusOr<BatchRecipe> RecipeOf(const Session& session, const ModelKind& kind, const Inputs& inputs,
                               bool training) {
  const TrainOptions& options = session.options;
  BatchRecipe recipe;
  HG_ASSIGN_OR_RETURN(recipe.sampling,
                      ChooseFanouts(training ? "--fanouts" : "--eval-fanouts",
                                    training ? options.AllFanouts() : options.AllEvalFanouts(),
                                    session.stores.graph->info().schema, options.replace));
  recipe.sampling.weight = session.options.sampling_weights;
  const ModelNeeds needs = session.options.model_options->NeedsOf(kind.needs);
  if (!needs.neighbors) recipe.sampling.layers = {{}};
  recipe.edge_ids = needs.edge_ids;
  recipe.weights = needs.weights;
  recipe.inputs = inputs.features;
  // What is learnt is not there yet when a minibatch is prepared.
  recipe.input_rows = inputs.learnt.empty() ? needs.input_rows : InputRows::kNodes;
  recipe.precision = session.options.precision;
  recipe.transposed = training && needs.transposed;
  recipe.pool = session.preparing.get();
  return recipe;
}

void SayIfProductsAreWide(const TrainOptions& options) {
  if (options.precision != Precision::kBf16 || HasBf16Products()) return;
  spdlog::warn(
      "rank {}: --precision bf16: this processor has no AVX512-BF16. Rows are kept as bfloat16, "
      "and "
      "products are made of them in float32",
      options.rank);
}

Status ResolvePredict(Session& session) {
  TrainOptions& options = session.options;
  const TrainingTask& task = *session.task;
  if (options.predict.empty()) return OkStatus();
  if (task.predicts_outputs()) {
    if (options.predict_what == PredictWhat::kEmbeddings &&
        options.predict_nodes == PredictNodes::kAll) {
      return OkStatus();
    }
    return InvalidArgument(
        "--predict: task '{}' is about edges, and nodes have embeddings only: give --predict-what "
        "embeddings, and --predict-nodes all or not at all",
        task.name());
  }
  if (!task.can_predict()) {
    return InvalidArgument("--predict: task '{}' predicts nothing for nodes; leave the option out",
                           task.name());
  }
  HG_ASSIGN_OR_RETURN(options.predict_what, task.WhatToPredict(options.predict_what));
  return OkStatus();
}

void PlanSampling(Session& session) {
  const SamplerThreads threads = SamplerThreadsOf(session.options);
  session.sampler = PlanSampler(session.stores.graph->info().schema, threads);
  if (session.sampler.helpers > 0) {
    const auto helpers = static_cast<size_t>(session.sampler.helpers);
    session.preparing = std::make_unique<ThreadPool>("hg-rows", helpers, helpers * 4);
  }
  if (session.sampler.table_bytes <= threads.memory) return;
  spdlog::warn(
      "rank {}: one minibatch in the making needs tables of {}, more than --sampler-memory {}: "
      "making one at a time",
      session.options.rank, FormatBytes(session.sampler.table_bytes), FormatBytes(threads.memory));
}

Status JoinRanks(Session& session) {
  const TrainOptions& options = session.options;
  HG_ASSIGN_OR_RETURN(
      session.ranks,
      Communicator::Join({options.rank, options.world_size, options.master_addr,
                          options.master_port, options.remote.timeout, session.stop->flag()}));
  return OkStatus();
}

// A row that cannot be learnt from is met by the rank that reads it alone: it joins the others
// before it fails, so that they are told why (Leave) and do not wait for it.
Status OpenTaskOf(Session& session) {
  const TrainOptions& options = session.options;
  torch::manual_seed(TrainerKey(options.seed, TrainerStream::kTask, 0, 0));  // of its own weights
  auto task =
      OpenTask(*session.stores.kv, options.tasks, options.task, {options.rank, options.world_size});
  if (!task.ok()) {
    if (task.status().code() == absl::StatusCode::kOutOfRange) {
      const Status joined = JoinRanks(session);
      if (!joined.ok()) spdlog::warn("{}", ToString(joined));
    }
    return task.status();
  }
  session.task = std::move(*task);
  return OkStatus();
}

// Edges that stand the wrong way round are the usual reason.
void WarnIfNoEdgeLeadsToSeeds(const Session& session, const ModelNeeds& needs) {
  if (!needs.neighbors || session.options.rank != 0) return;
  const Schema& schema = session.stores.graph->info().schema;
  const int type = session.task->node_type();
  for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
    if (schema.DestinationType(r) == type && schema.relations[r].count > 0) return;
  }
  spdlog::warn(
      "no edge leads into node type '{}' of task '{}': the model sees each of these nodes alone. "
      "halograph-partition run --undirected adds the reverse relations",
      schema.node_types[type].name, session.task->name());
}

// How many epochs, where the options leave it open.
void ResolveEpochs(Session& session) {
  TrainOptions& options = session.options;
  if (options.epochs > 0) return;
  const SeedSource& train = *session.task->source(BatchPurpose::kTrain);
  options.epochs = DefaultEpochs(session.Shards(train).Steps(options.batch_size));
}

StatusOr<Inputs> ChooseInputsOf(const Session& session, const ModelKind& kind) {
  const TrainOptions& options = session.options;
  const Schema& schema = session.stores.graph->info().schema;
  Inputs inputs;
  HG_ASSIGN_OR_RETURN(inputs.learnt, ChooseLearntTypes(options.embeddings, schema));
  std::vector<int> learnt;
  for (const LearntType& type : inputs.learnt) learnt.push_back(type.node_type);
  HG_ASSIGN_OR_RETURN(inputs.features,
                      ChooseInputs(kind, schema, options.features, options.normalization, learnt));
  return inputs;
}

// Graph, task and ranks.
Status Prepare(Session& session, Inputs* inputs) {
  const TrainOptions& options = session.options;
  HG_ASSIGN_OR_RETURN(const ModelKind* const kind, FindModelKind(options.model));
  session.stop->OnStop([&session] { session.cancel.Cancel(); });
  HG_ASSIGN_OR_RETURN(session.stores, OpenStores(StoreOptionsOf(options), &session.cancel));
  PlanSampling(session);
  HG_ASSIGN_OR_RETURN(*inputs, ChooseInputsOf(session, *kind));
  HG_RETURN_IF_ERROR(OpenTaskOf(session));
  WarnIfNoEdgeLeadsToSeeds(session, options.model_options->NeedsOf(kind->needs));
  ResolveEpochs(session);
  HG_RETURN_IF_ERROR(ResolvePredict(session));
  for (auto* const maker : {&session.train_maker, &session.eval_maker}) {
    HG_ASSIGN_OR_RETURN(
        const BatchRecipe recipe,
        RecipeOf(session, *kind, *inputs, /*training=*/maker == &session.train_maker));
    // What no minibatch could be made of is an error now, not after the ranks have met.
    HG_RETURN_IF_ERROR(ValidateRequest(
        session.stores.graph->info().schema,
        {.spec = &recipe.sampling, .edge_ids = recipe.edge_ids, .weights = recipe.weights}));
    *maker =
        std::make_unique<BatchMaker>(session.stores.graph.get(), session.stores.kv.get(), recipe);
  }
  HG_RETURN_IF_ERROR(JoinRanks(session));
  Json facts = SharedFacts(options);
  facts["graph_identity"] = session.stores.graph->info().identity;
  facts["build"] = BuildVersion();
  HG_RETURN_IF_ERROR(session.ranks->Agree(facts));
  if (!options.model_options->NeedsOf(kind->needs).neighbors) return OkStatus();
  return session.task->CheckGraph(*session.stores.graph, &session.cancel);
}

// With the same weights on every rank.
Status MakeModel(Session& session, const Inputs& inputs) {
  const TrainOptions& options = session.options;
  HG_ASSIGN_OR_RETURN(const ModelKind* const kind, FindModelKind(options.model));
  ModelShape shape;
  shape.schema = &session.stores.graph->info().schema;
  shape.input_dims.resize(shape.schema->node_types.size());
  for (const NodeInput& input : inputs.features) {
    shape.input_dims[input.node_type] += input.spec.dim;
  }
  for (const LearntType& type : inputs.learnt) shape.input_dims[type.node_type] = type.dim;
  shape.layers = options.layers;
  shape.output_dim = session.task->output_dim();
  shape.precision = options.precision;
  torch::manual_seed(TrainerKey(options.seed, TrainerStream::kInitialWeights, 0, 0));
  session.model = kind->make(*options.model_options, shape);
  return BroadcastParameters(session.Parameters(), *session.ranks);
}

Status OpenLearntInputs(Session& session, const std::vector<LearntType>& types) {
  if (types.empty()) return OkStatus();
  const TrainOptions& options = session.options;
  HG_ASSIGN_OR_RETURN(
      session.learnt,
      LearntInputs::Open(session.stores.kv.get(), options.embeddings, types,
                         TrainerKey(options.seed, TrainerStream::kLearntInputs, 0, 0),
                         session.ranks.get(), &session.cancel));
  return OkStatus();
}

// OpenBLAS tries for ever to get the buffer that it needs, from its first product of matrices on.
// It gets it here, or memory is out.
Status TakeBlasBuffer() {
  HG_RETURN_IF_ERROR(CheckBlasMemory(FastBlasName()));
  constexpr int64_t kEnough = 256;  // columns, for all its threads to share the product
  const torch::Tensor square = torch::zeros({kEnough, kEnough});
  static_cast<void>(torch::mm(square, square));
  return OkStatus();
}

StatusOr<TrainResult> Train(Session& session, TrainLog& log) {
  const TrainOptions& options = session.options;
  const auto seeds = session.task->source(BatchPurpose::kTrain)->rows();
  std::optional<Progress> progress;
  if (options.rank == 0) progress.emplace("training, seeds", options.epochs * seeds);
  std::string validation;
  const Metric& metric = session.task->metric();
  TrainingLoop loop(
      session,
      [&](int64_t step_seeds, double) {
        if (progress.has_value()) progress->Advance(step_seeds);
      },
      [&](const EpochStats& stats) -> Status {
        if (!progress.has_value()) return OkStatus();
        if (stats.valid.has_value() && !std::isnan(stats.valid->metric)) {
          validation = fmt::format(", validation {} {:.4f}", metric.label, stats.valid->metric);
        }
        progress->Note(fmt::format("epoch {} of {}, loss {:.4f}{}", stats.epoch + 1, options.epochs,
                                   stats.figures[Figure::kLoss], validation));
        return log.Write(ToJson(stats, metric.key));
      });
  return loop.Run();
}

Status WritePredictionsOf(Session& session) {
  if (session.options.predict.empty()) return OkStatus();
  if (session.stop->requested()) {
    spdlog::warn("rank {}: writing predictions with the best weights before the end",
                 session.options.rank);
  }
  try {
    HG_ASSIGN_OR_RETURN(const Predictions predictions, Predict(session));
    if (session.options.rank != 0) return OkStatus();
    return WritePredictions(session.options.predict, predictions);
  } catch (const std::exception& error) {
    return TorchError(session.options.rank, "predicting", error);
  }
}

Status CheckRoom(const Session& session) {
  const TrainOptions& options = session.options;
  if (options.predict.empty() || options.rank != 0) return OkStatus();
  return CheckPredictionRoom(options.predict, options.predict_what, PredictionRows(session),
                             PredictionColumns(session));
}

// What a run says that a signal to one of its ranks has stopped.
Status Stopped(const Session& session) {
  HG_RETURN_IF_ERROR(session.CheckStop());
  // Another rank got it and leaves: this ends with its name.
  HG_RETURN_IF_ERROR(session.ranks->Barrier("meeting after a stop"));
  return Cancelled("stopped by a signal to another rank");
}

// All that comes after training. The table is printed whatever becomes of files and other ranks: a
// full disk takes none of it.
Status Finish(Session& session, const TrainResult& result, const Stopwatch& run, TrainLog& log) {
  RunSummary summary = SummaryOf(session, result);
  const auto most_frequent = MostFrequentShare(
      session, summary.test.has_value() ? BatchPurpose::kTest : BatchPurpose::kValid);
  if (most_frequent.ok()) summary.most_frequent = *most_frequent;
  Status status = most_frequent.status();
  if (status.ok()) status = WritePredictionsOf(session);
  if (session.options.rank == 0) {
    summary.total_seconds = run.Seconds();
    const Status logged = log.Write(FinalLine(session, result, summary));
    if (status.ok()) status = logged;
    PrintText(SummaryTable(summary));
    std::fflush(stdout);
  }
  return status;
}

// A signal cancels calls; what these then say is not the reason of the end.
Status UnlessStopped(const Session& session, Status status) {
  if (!status.ok()) HG_RETURN_IF_ERROR(session.CheckStop());
  return status;
}

Status RunPrepared(Session& session, TrainLog& log) {
  const Stopwatch run;
  HG_RETURN_IF_ERROR(TakeBlasBuffer());
  Inputs inputs;
  HG_RETURN_IF_ERROR(UnlessStopped(session, Prepare(session, &inputs)));
  HG_RETURN_IF_ERROR(UnlessStopped(session, OpenLearntInputs(session, inputs.learnt)));
  if (session.options.rank == 0)
    HG_RETURN_IF_ERROR(log.Write(ConfigLine(session, inputs.features, inputs.learnt)));
  HG_RETURN_IF_ERROR(UnlessStopped(session, MakeModel(session, inputs)));
  HG_RETURN_IF_ERROR(CheckRoom(session));
  const auto result = Train(session, log);
  HG_RETURN_IF_ERROR(UnlessStopped(session, result.status()));
  if (result->best.has_value()) HG_RETURN_IF_ERROR(Finish(session, *result, run, log));
  return result->stopped ? Stopped(session) : OkStatus();
}

}  // namespace

Status RunTraining(const TrainOptions& options, StopSignal& stop) {
  Progress::Enable(!options.quiet);
  PoolTensors();
  SetThreads(options);
  SayIfProductsAreWide(options);
  TrainLog log;
  if (options.rank == 0) {
    WarnIfSlowBlas();
    if (!options.predict.empty()) HG_RETURN_IF_ERROR(CheckPredictionPath(options.predict));
    HG_ASSIGN_OR_RETURN(log, TrainLog::Create(options.log));
  }
  Session session;
  session.options = options;
  session.stop = &stop;
  Status status;
  try {
    status = RunPrepared(session, log);
  } catch (const std::exception& error) {
    status = TorchError(options.rank, "preparing", error);
  }
  stop.OnStop(nullptr);
  if (!status.ok()) {
    if (session.ranks != nullptr) session.ranks->Leave(ToString(status));
    if (const Status written = log.Write(Json{{"error", ToString(status)}}); !written.ok()) {
      spdlog::warn("{}", ToString(written));
    }
  }
  return status;
}

}  // namespace halograph

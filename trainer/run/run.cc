#include "trainer/run/run.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/progress.h"
#include "common/base/units.h"
#include "trainer/distributed/gradients.h"
#include "trainer/launch/blas.h"
#include "trainer/output/prediction_file.h"
#include "trainer/output/train_log.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/training/evaluation.h"
#include "trainer/training/session.h"
#include "trainer/training/training_loop.h"

namespace halograph {
namespace {

void SetThreads(const TrainOptions& options) {
  at::set_num_threads(options.threads);
  // One operation at a time: the pipeline's threads are the parallelism beside it.
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
}

BatchRecipe RecipeOf(const Session& session, const TensorSpec& feature,
                     const std::vector<int32_t>& fanouts) {
  const Schema& schema = session.stores.graph->info().schema;
  BatchRecipe recipe;
  recipe.node_type = session.task.node_type;
  recipe.sampling = SamplingSpec::Uniform(schema, fanouts, session.options.replace);
  recipe.sampling.weight = session.options.sampling_weights;
  recipe.feature = TensorRef{false, schema.node_types[recipe.node_type].name, feature.name};
  recipe.feature_spec = feature;
  recipe.normalization = session.options.normalization;
  return recipe;
}

// Graph, task and ranks; then a model with the same weights on every rank.
Status Prepare(Session& session, TensorSpec* feature) {
  const TrainOptions& options = session.options;
  HG_ASSIGN_OR_RETURN(session.stores, OpenStores(options, session.stop));
  session.stop->OnStop([&session] { session.stores.Shutdown(); });
  HG_ASSIGN_OR_RETURN(*feature,
                      ChooseFeatures(session.stores.graph->info().schema, options.features));
  HG_ASSIGN_OR_RETURN(session.task, ReadClassificationTask(*session.stores.kv, options.task));
  for (auto [maker, fanouts] : {std::pair{&session.train_maker, &options.fanouts},
                                {&session.eval_maker, &options.eval_fanouts}}) {
    const BatchRecipe recipe = RecipeOf(session, *feature, *fanouts);
    // What no minibatch could be made of is an error now, not after the ranks have met.
    HG_RETURN_IF_ERROR(ValidateRequest(
        session.stores.graph->info().schema,
        {.seeds = {{.type = recipe.node_type, .ids = {}}}, .spec = &recipe.sampling}));
    *maker =
        std::make_unique<BatchMaker>(session.stores.graph.get(), session.stores.kv.get(), recipe);
  }
  HG_ASSIGN_OR_RETURN(session.ranks, Communicator::Join({options.rank, options.world_size,
                                                         options.master_addr, options.master_port,
                                                         options.timeout, session.stop->flag()}));
  Json facts = SharedFacts(options);
  facts["graph_identity"] = session.stores.graph->info().identity;
  facts["build"] = BuildVersion();
  return session.ranks->Agree(facts);
}

Status MakeModel(Session& session, const TensorSpec& feature) {
  const TrainOptions& options = session.options;
  SageOptions sage;
  sage.layers = options.layers;
  sage.in_dim = feature.dim;
  sage.hidden = options.hidden;
  sage.num_classes = session.task.num_classes;
  sage.dropout = options.dropout;
  torch::manual_seed(TrainerKey(options.seed, TrainerStream::kInitialWeights, 0, 0));
  session.model = Sage(sage);
  return BroadcastParameters(session.model->parameters(), *session.ranks);
}

Json ConfigLine(const Session& session, const TensorSpec& feature) {
  const GraphInfo& info = session.stores.graph->info();
  Json config = ToJson(session.options);
  config["task"] = session.task.name;
  config["features"] = feature.name;
  config["feature_dim"] = feature.dim;
  config["feature_dtype"] = DTypeName(feature.dtype);
  config["num_classes"] = session.task.num_classes;
  config["build"] = BuildVersion();
  config["torch"] = TorchVersion();
  config["blas"] = FastBlasName();
  config["graph_name"] = info.schema.graph_name;
  config["graph_identity"] = info.identity;
  config["sampling_contract"] = kSamplingContract;
  config["parts"] = info.book.num_parts();
  config["nodes"] = info.schema.node_types.front().count;
  config["edges"] = info.schema.relations.front().count;
  config["train_rows"] = session.task.train.seeds.size();
  config["valid_rows"] = session.task.valid.seeds.size();
  config["test_rows"] = session.task.test.seeds.size();
  return Json{{"config", std::move(config)}};
}

Json FinalLine(const TrainOptions& options, const TrainResult& result) {
  Json line = ToJson(result.best);
  return Json{{"final", true},
              {"test_acc", line["test_acc"]},
              {"valid_acc", line["valid_acc"]},
              {"best_epoch", result.best.epoch},
              {"epochs", options.epochs},
              {"loss", result.last.loss},
              {"seconds", result.train_seconds},
              {"sampled_edges", std::llround(result.sampled_edges)}};
}

std::string OrNone(const std::optional<double>& accuracy) {
  return accuracy.has_value() ? fmt::format("{:.4f}", *accuracy) : "none";
}

void PrintTable(const TrainOptions& options, const TrainResult& result) {
  const double seconds = std::max(result.train_seconds, 1e-9);
  fmt::print("{:<26} {:>14}\n", "epochs", options.epochs);
  fmt::print("{:<26} {:>14.4f}\n", "loss", result.last.loss);
  fmt::print("{:<26} {:>14}\n", "validation accuracy", OrNone(result.best.valid_acc));
  fmt::print("{:<26} {:>14}   (of the best epoch by validation, {})\n", "test accuracy",
             OrNone(result.best.test_acc), result.best.epoch);
  fmt::print("{:<26} {:>14.3f}\n", "seconds per epoch",
             seconds / static_cast<double>(options.epochs));
  fmt::print("{:<26} {:>14}\n", "sampled edges per second",
             FormatCount(std::llround(result.sampled_edges / seconds)));
  std::fflush(stdout);
}

StatusOr<TrainResult> Train(Session& session, TrainLog& log) {
  const TrainOptions& options = session.options;
  const auto seeds = static_cast<int64_t>(session.task.train.seeds.size());
  std::optional<Progress> progress;
  if (options.rank == 0) progress.emplace("training, seeds", options.epochs * seeds);
  std::string accuracy;
  double epoch_loss = 0;
  TrainingLoop loop(
      session,
      [&](int64_t step_seeds, double) {
        if (progress.has_value()) progress->Advance(step_seeds);
      },
      [&](const EpochStats& stats) -> Status {
        if (!progress.has_value()) return OkStatus();
        epoch_loss = stats.loss;
        if (stats.valid_acc.has_value()) {
          accuracy = fmt::format(", validation {:.4f}", *stats.valid_acc);
        }
        progress->Note(fmt::format("epoch {} of {}, loss {:.4f}{}", stats.epoch + 1, options.epochs,
                                   epoch_loss, accuracy));
        return log.Write(ToJson(stats));
      });
  return loop.Run();
}

Status WritePredictionsOf(Session& session) {
  if (session.options.predict.empty()) return OkStatus();
  try {
    HG_ASSIGN_OR_RETURN(std::vector<Prediction> predictions, Predict(session));
    if (session.options.rank != 0) return OkStatus();
    return WritePredictions(session.options.predict, std::move(predictions));
  } catch (const std::exception& error) {
    return Internal("rank {}: predicting: {}", session.options.rank, TorchMessage(error));
  }
}

Status RunPrepared(Session& session, TrainLog& log) {
  TensorSpec feature;
  HG_RETURN_IF_ERROR(Prepare(session, &feature));
  const bool first = session.options.rank == 0;
  if (first) HG_RETURN_IF_ERROR(log.Write(ConfigLine(session, feature)));
  HG_RETURN_IF_ERROR(MakeModel(session, feature));
  HG_ASSIGN_OR_RETURN(const TrainResult result, Train(session, log));
  HG_RETURN_IF_ERROR(WritePredictionsOf(session));
  if (!first) return OkStatus();
  HG_RETURN_IF_ERROR(log.Write(FinalLine(session.options, result)));
  PrintTable(session.options, result);
  return OkStatus();
}

}  // namespace

Status RunTraining(const TrainOptions& options, StopSignal& stop) {
  Progress::Enable(!options.quiet);
  SetThreads(options);
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
    status = Internal("rank {}: {}", options.rank, TorchMessage(error));
  }
  stop.OnStop(nullptr);
  if (!status.ok() && stop.requested()) status = Cancelled("stopped by signal");
  if (!status.ok()) {
    session.stores.Shutdown();
    if (session.ranks != nullptr) session.ranks->Leave(ToString(status));
    if (const Status written = log.Write(Json{{"error", ToString(status)}}); !written.ok()) {
      spdlog::warn("{}", ToString(written));
    }
  }
  return status;
}

}  // namespace halograph

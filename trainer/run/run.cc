#include "trainer/run/run.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/log.h"
#include "common/base/progress.h"
#include "common/base/stopwatch.h"
#include "common/program/program.h"
#include "common/program/service_notice.h"
#include "trainer/averaging/averaged_training.h"
#include "trainer/checkpoint/checkpoints.h"
#include "trainer/distributed/wait_together.h"
#include "trainer/options/rank_path.h"
#include "trainer/output/epoch_line.h"
#include "trainer/output/event_file.h"
#include "trainer/output/prediction_file.h"
#include "trainer/output/trace_file.h"
#include "trainer/output/train_log.h"
#include "trainer/run/feature_scales.h"
#include "trainer/run/frame.h"
#include "trainer/run/own_state.h"
#include "trainer/run/part_sources.h"
#include "trainer/run/prepare.h"
#include "trainer/run/report.h"
#include "trainer/run/stores.h"
#include "trainer/training/evaluation.h"
#include "trainer/training/session.h"
#include "trainer/training/step_trace.h"
#include "trainer/training/torch_error.h"
#include "trainer/training/training_loop.h"

namespace halograph {
namespace {

// What rank 0 writes as training goes on; on other ranks nothing.
struct Records {
  TrainLog log;
  EventFile events;
  Status lost;  // why the first thing that is missing is missing: lines, or the last checkpoint

  // Training goes on without what cannot be written, loudly, and the run fails at its end.
  void Write(const EpochStats& stats, std::string_view metric) {
    const Json line = ToJson(stats, metric);
    Written(log.Write(stats.within ? Json{{"evaluation", line}} : line));
    Written(events.Write(line));
  }
  void Written(const Status& status) {
    if (status.ok()) return;
    spdlog::warn("a line of the log is lost, training goes on: {}", ToString(status));
    Lose(Annotate(status, "lines of the log were lost while training went on"));
  }
  void Lose(const Status& status) {
    if (lost.ok()) lost = status;
  }
};

// Seeds of all ranks that training is through with where it begins.
int64_t SeedsBefore(const Session& session, const TrainingStart& start) {
  const SeedSource& source = *session.task->source(BatchPurpose::kTrain);
  const SeedShards shards = session.Shards(source);
  int64_t seeds = start.epoch * source.rows();
  for (int64_t step = 0; step < start.step; ++step) {
    seeds += shards.SeedsInStep(session.options.batch_size, step);
  }
  return seeds;
}

// `training`: begins where `checkpoints` say. Null: nothing is kept.
template <typename Training>
StatusOr<TrainResult> RunFrom(Checkpoints* checkpoints, Session& session, Training& training,
                              Records& records) {
  if (checkpoints == nullptr) return training.Run();
  HG_RETURN_IF_ERROR(checkpoints->RestoreOptimizer(training.optimizer()));
  auto result = training.Run();
  // What a run that is started again would go on from is older than what is told of this one.
  if (result.ok()) records.Lose(checkpoints->failure());
  if (!result.ok() && !session.stop->requested()) {
    session.advice = checkpoints->Advice(result.status());
  }
  return result;
}

// `parts`: of averaged training; null: all ranks train one model.
StatusOr<TrainResult> Train(Session& session, PartSource* parts, Records& records) {
  const TrainOptions& options = session.options;
  const auto seeds = session.task->source(BatchPurpose::kTrain)->rows();
  std::optional<Progress> progress;
  // With parts a rank counts the seeds of its own.
  if (options.rank == 0) {
    progress.emplace("training, seeds", parts != nullptr ? 0 : options.epochs * seeds);
  }
  std::string validation;
  const CacheRoom cache = {options.MemoryOfCache(), options.cache_memory_default * kCacheShare};
  const Metric& metric = session.task->metric();
  const auto on_step = [&](int64_t step_seeds) {
    if (progress.has_value()) progress->Advance(step_seeds);
  };
  const auto on_epoch = [&](const EpochStats& stats) -> Status {
    if (!progress.has_value()) return OkStatus();
    if (stats.valid.has_value() && !std::isnan(stats.valid->metric)) {
      validation = fmt::format(", validation {} {:.4f}", metric.label, stats.valid->metric);
    }
    const std::string step = stats.within ? fmt::format(", step {}", stats.step) : "";
    progress->Note(fmt::format("epoch {} of {}{}, loss {:.4f}{}{}{}", stats.epoch + 1,
                               options.epochs, step, stats.figures[Figure::kLoss], validation,
                               BoundText(stats.figures, cache),
                               CacheText(stats.figures, stats.within)));
    records.Write(stats, metric.key);
    return OkStatus();
  };
  const auto on_choice = [&](const ThreadChoice& choice) -> Status {
    if (options.rank != 0) return OkStatus();
    spdlog::info("{}", ToText(choice));
    records.Written(records.log.Write(Json{{"tuned", ToJson(choice)}}));
    return OkStatus();
  };
  std::unique_ptr<Checkpoints> checkpoints;
  TrainingStart start;
  if (!options.checkpoint.folder.empty()) {
    const auto log = [&](const Json& line) { return records.log.Write(line); };
    HG_ASSIGN_OR_RETURN(checkpoints, Checkpoints::Open(session, log));
    start = checkpoints->start();
  }
  if (parts != nullptr) {
    AveragedTraining training(session, parts, on_step, on_epoch, start, checkpoints.get());
    return RunFrom(checkpoints.get(), session, training, records);
  }
  if (progress.has_value()) progress->BeginAt(SeedsBefore(session, start));
  TrainingLoop loop(session, on_step, on_epoch, start, checkpoints.get(), on_choice);
  return RunFrom(checkpoints.get(), session, loop, records);
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
    const std::string& path = session.options.predict;
    const std::vector<int> types = session.task->predicted_types();
    if (types.size() == 1) return WritePredictions(path, predictions);
    const Schema& schema = session.stores.graph->info().schema;
    for (const int type : types) {
      HG_RETURN_IF_ERROR(WritePredictions(PredictionPathOf(path, schema.node_types[type].name),
                                          RowsOfType(predictions, type)));
    }
    return OkStatus();
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
  torch::Tensor got_it = torch::zeros({session.options.world_size});
  got_it[session.options.rank] = session.stop->requested() ? 1 : 0;
  const Status met = session.ranks->AllReduceSum(got_it, "meeting after a stop");
  HG_RETURN_IF_ERROR(session.CheckStop());
  HG_RETURN_IF_ERROR(met);
  const auto which = static_cast<int>(got_it.argmax().item<int64_t>());
  HG_ASSIGN_OR_RETURN(const std::string name, session.ranks->NameOf(which));
  return Cancelled("stopped by signal to {}", name);
}

// All that comes after training. The table is printed whatever becomes of files and other ranks: a
// full disk takes none of it.
Status Finish(Session& session, const RunInputs& inputs, PartSource* parts,
              const TrainResult& result, const Stopwatch& run, Records& records) {
  session.metrics->SetPhase(RunPhase::kEnding);
  RunSummary summary = SummaryOf(session, result);
  if (session.options.rank == 0 && !session.options.part_only) {
    summary.unlike = FindUnlikeColumns(session, inputs.features);
  }
  const BatchPurpose set = summary.test.has_value() ? BatchPurpose::kTest : BatchPurpose::kValid;
  const auto most_frequent =
      parts != nullptr ? parts->MostFrequent(set) : MostFrequentShare(session, set);
  if (most_frequent.ok()) summary.most_frequent = *most_frequent;
  Status status = most_frequent.status();
  if (status.ok()) status = WritePredictionsOf(session);
  if (session.options.rank == 0) {
    summary.total_seconds = run.Seconds();
    const Status logged = records.log.Write(FinalLine(session, result, summary));
    for (const Status& of_log : {records.lost, logged}) {
      if (status.ok()) status = of_log;
    }
    PrintText(SummaryTable(summary));
    static_cast<void>(FlushStdout());
  }
  return status;
}

// Those of the ranks of this process; none where nothing is traced.
StatusOr<std::vector<std::shared_ptr<TraceFile>>> CreateTraces(const TrainOptions& options) {
  std::vector<std::shared_ptr<TraceFile>> traces(static_cast<size_t>(options.ranks_here()));
  if (options.trace.empty()) return traces;
  for (int index = 0; index < options.ranks_here(); ++index) {
    const TrainOptions own = OptionsOfRank(options, index);
    HG_ASSIGN_OR_RETURN(
        traces[static_cast<size_t>(index)],
        TraceFile::Create(PathOfRank(own.trace, own.rank, own.world_size), own.rank));
  }
  return traces;
}

// `goes_on`: rank 0 goes on from checkpoints that are there. `notice`: of the process.
Status RunPrepared(Session& session, bool goes_on, Records& records, ServiceNotice& notice) {
  const Stopwatch run;
  session.options.remote.on_call_ended = CallTracer(session);
  RunInputs inputs;
  HG_RETURN_IF_ERROR(UnlessStopped(session, Prepare(session, &inputs)));
  HG_RETURN_IF_ERROR(CheckLearntUse(session.options.embeddings, inputs.learnt));
  HG_RETURN_IF_ERROR(UnlessStopped(session, CheckAveraged(session, inputs)));
  HG_RETURN_IF_ERROR(UnlessStopped(session, CheckRows(session, inputs)));
  const RankWork check_start = [&](const CancelToken&) {
    return Checkpoints::CheckStart(session, inputs.learnt);
  };
  HG_RETURN_IF_ERROR(
      UnlessStopped(session, WorkTogether(*session.ranks, &session.cancel,
                                          session.options.rank == 0 ? check_start : nullptr,
                                          "waiting for rank 0 to look at the newest checkpoint")));
  if (goes_on && session.options.rank == 0) {
    session.options.embeddings.begin = EmbedBegin::kContinue;
  }
  HG_RETURN_IF_ERROR(UnlessStopped(session, OpenLearntInputs(session, inputs)));
  if (const auto state = LastingStateOf(session.options);
      !inputs.learnt.empty() && !state.empty()) {
    HG_RETURN_IF_ERROR(UnlessStopped(session, KeepNamesOfRows(session, inputs, state)));
  }
  if (session.options.rank == 0)
    HG_RETURN_IF_ERROR(records.log.Write(ConfigLine(session, inputs.features, inputs.learnt)));
  HG_RETURN_IF_ERROR(UnlessStopped(session, MakeModel(session, inputs)));
  HG_RETURN_IF_ERROR(CheckLearns(session, inputs));
  HG_RETURN_IF_ERROR(CheckRoom(session));
  std::unique_ptr<PartSource> parts;
  if (session.options.average_every > 0) {
    HG_ASSIGN_OR_RETURN(parts, MakePartSource(session));
  }
  if (session.seat.index == 0) notice.Ready("training");
  const auto result = Train(session, parts.get(), records);
  HG_RETURN_IF_ERROR(UnlessStopped(session, result.status()));
  if (result->best.has_value()) {
    HG_RETURN_IF_ERROR(Finish(session, inputs, parts.get(), *result, run, records));
  }
  return result->stopped ? Stopped(session) : OkStatus();
}

}  // namespace

Status RunTraining(const TrainOptions& given, StopSignal& stop) {
  HG_ASSIGN_OR_RETURN(const TrainOptions options, WithOpenTls(given));
  const std::unique_ptr<ServiceNotice> notice = ServiceNotice::OfEnvironment();
  notice->Doing("preparing");
  Records records;
  bool goes_on = false;
  if (options.rank == 0) {
    if (!options.predict.empty()) HG_RETURN_IF_ERROR(CheckPredictionPath(options.predict));
    // Before the log is begun anew: it may be of the run whose checkpoints are there.
    HG_ASSIGN_OR_RETURN(goes_on, Checkpoints::GoesOn(options.checkpoint));
  }
  // Before files are begun anew: a port that is taken costs none of them.
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<RunPort> port, RunPort::Open(options));
  HG_ASSIGN_OR_RETURN(auto traces, CreateTraces(options));
  if (options.rank == 0) {
    HG_ASSIGN_OR_RETURN(records.log, options.checkpoint.resume ? TrainLog::GoOn(options.log)
                                                               : TrainLog::Create(options.log));
    HG_ASSIGN_OR_RETURN(records.events, EventFile::Create(options.tensorboard));
  }
  return RunInFrame(options, stop, "preparing", records.log, *port, [&](Session& session) {
    session.trace = std::move(traces[static_cast<size_t>(session.seat.index)]);
    return RunPrepared(session, goes_on, records, *notice);
  });
}

}  // namespace halograph

#include "trainer/training/training_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "trainer/pipeline/batch_schedule.h"
#include "trainer/pipeline/trace_ids.h"
#include "trainer/training/not_finite.h"
#include "trainer/training/step_trace.h"
#include "trainer/training/torch_error.h"

namespace halograph {
namespace {

std::chrono::nanoseconds Nanoseconds(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

// The session's, or of nobody who reads them.
std::shared_ptr<TrainMetrics> MetricsOf(const Session& session) {
  if (session.metrics != nullptr) return session.metrics;
  return std::make_shared<TrainMetrics>(std::make_shared<MetricRegistry>(), session.options.rank,
                                        session.options.world_size);
}

void CountBatch(const Step& batch, EpochFigures* figures) {
  EpochFigures& f = *figures;
  CallStats pulled = batch.pulled;
  pulled += batch.learnt;
  f[Figure::kTrainSeeds] += static_cast<double>(batch.rows);
  f[Figure::kSampledEdges] += static_cast<double>(batch.minibatch.sampled_edges);
  f[Figure::kLocalBytes] += static_cast<double>(pulled.local_bytes);
  f[Figure::kRemoteBytes] += static_cast<double>(pulled.remote_bytes);
  f[Figure::kRemoteSampleBytes] += static_cast<double>(batch.sampled.remote_bytes);
  f[Figure::kRounds] += static_cast<double>(batch.sampled.rounds + pulled.rounds);
  f[Figure::kFailovers] += static_cast<double>(batch.sampled.failovers + pulled.failovers);
  f[Figure::kCutNodes] += static_cast<double>(batch.sampled.cut_nodes);
  f[Figure::kCacheHits] += static_cast<double>(pulled.cache_hits);
  f[Figure::kCacheMisses] += static_cast<double>(pulled.cache_misses);
  f[Figure::kCacheRefetches] += static_cast<double>(pulled.cache_refetches);
  f[Figure::kDeviceHits] += static_cast<double>(batch.split.held_rows());
  f[Figure::kDeviceSaved] += static_cast<double>(batch.held_bytes);
  f[Figure::kMinibatches] += batch.rows > 0 ? 1 : 0;
}

}  // namespace

TrainingLoop::TrainingLoop(Session& session, OnStep on_step, OnEpoch on_epoch, TrainingStart start,
                           MomentKeeper* keeper, ThreadTuner::OnChoice on_choice)
    : session_(session),
      on_step_(std::move(on_step)),
      on_epoch_(std::move(on_epoch)),
      keeper_(keeper),
      first_epoch_(start.epoch),
      first_step_(start.step),
      parameters_(session.Parameters()),
      buffers_(session.model->buffers()),
      buffers_before_(buffers_),
      gradients_(parameters_,
                 session.options.gradient_dtype == GradientDtype::kBfloat16
                     ? CarriedAs::kBfloat16
                     : CarriedAs::kThemselves,
                 session.device),
      optimizer_(session.options.optimizer, parameters_, session.options.learning_rate,
                 session.options.weight_decay),
      metrics_(MetricsOf(session)),
      feed_(session, BatchPurpose::kTrain, *session.task->source(BatchPurpose::kTrain), start.epoch,
            start.step, OnSignal::kEnd,
            ThreadTuner::FirstAhead(session.options, start.so_far.threads)),
      stages_(metrics_, [this] { return feed_.ThreadTimes(); }),
      length_(LengthOfRun(session.options.epochs, feed_.steps_per_epoch(),
                          session.options.control.max_steps)),
      under_way_(std::move(start.under_way)),
      late_(session,
            [this](const Step& batch, double loss, const std::vector<torch::Tensor>& scores) {
              under_way_.figures[Figure::kLoss] += loss;
              metrics_->SetLoss(loss / std::max(1.0, static_cast<double>(batch.rows)));
              session_.task->Measure(scores, batch, under_way_.metric);
            }),
      result_(std::move(start.so_far)),
      best_weights_(Joined(parameters_, buffers_), std::move(start.best_weights)),
      rules_(session),
      next_epoch_(start.epoch),
      next_step_(start.step),
      steps_done_(start.steps_done) {
  under_way_.metric.resize(session.task->metric().sums, 0);
  metrics_->sample_threads->Set(session.sampler.minibatches);
  if (session.options.tune) tuner_.emplace(session, feed_, result_.threads, std::move(on_choice));
}

Status TrainingLoop::TakeStep(int64_t epoch, int64_t step, EpochFigures* figures) {
  const EpochSums before = keeper_ != nullptr ? under_way_ : EpochSums{};
  HG_ASSIGN_OR_RETURN(const std::shared_ptr<Step> next, NextStep(figures));
  const TracedWork traced(session_, "train",
                          next != nullptr ? std::optional(next->key) : std::nullopt);
  // A rank that is to stop goes along to the step's collective once more, to say so.
  const double waited_before = waited_;
  StepAsks asks{.stop = next == nullptr,
                .checkpoint = keeper_ != nullptr && keeper_->Wants(steps_done_ + 1),
                .time_up = rules_.TimeIsUp(),
                .waited = static_cast<float>(waited_before)};
  waited_ = 0;
  HG_RETURN_IF_ERROR(gradients_.Begin(*session_.ranks));
  HG_ASSIGN_OR_RETURN(const double weight, StepWeight(next.get(), step, figures));
  if (keeper_ != nullptr) buffers_before_.Keep();
  if (!asks.stop) HG_RETURN_IF_ERROR(Learn(next, epoch, step, weight, figures));

  {
    const SyncWait waiting(*this, figures);
    if (!MayBeToldLate()) HG_RETURN_IF_ERROR(late_.TakeAllBut(0));
    after_moment_ = false;
    HG_RETURN_IF_ERROR(gradients_.AllReduce(*session_.ranks, &asks));
  }
  if (session_.ranks->world_size() > 1) metrics_->SetWaits(asks.waited, waited_before);
  if (asks.stop) {
    if (keeper_ != nullptr) {  // another rank stops, this one has learnt
      buffers_before_.PutBack();
      under_way_ = before;
    }
    result_.stopped = true;
    return late_.TakeAllBut(0);
  }
  const bool last = epoch * length_.steps_per_epoch + step + 1 == length_.steps;
  if (asks.time_up && !last) result_.ended_by = EndedBy::kTimeLimit;
  HG_RETURN_IF_ERROR(EndStep(*next, epoch, step, figures));
  if (!asks.checkpoint || keeper_ == nullptr) return OkStatus();
  HG_RETURN_IF_ERROR(late_.TakeAllBut(0));
  after_moment_ = true;
  return keeper_->Keep(Moment());
}

TrainingLoop::SyncWait::SyncWait(TrainingLoop& loop, EpochFigures* figures)
    : loop_(loop), figures_(figures), blocked_(&loop.metrics_->clock(), StageState::kBlocked) {}

TrainingLoop::SyncWait::~SyncWait() {
  const double seconds = watch_.Seconds();
  (*figures_)[Figure::kSyncWait] += seconds;
  loop_.waited_ += seconds;
  loop_.metrics_->sync_wait->Add(Nanoseconds(seconds));
}

// A loss that is no number goes to no other rank and to no store, is not told as what follows from
// it, and is told in the step behind a moment that was kept, which is then known not to be good.
bool TrainingLoop::MayBeToldLate() const {
  return session_.options.world_size == 1 && session_.learnt == nullptr &&
         session_.options.control.clip_norm == 0 && !after_moment_;
}

Status TrainingLoop::EndStep(Step& next, int64_t epoch, int64_t step, EpochFigures* figures) {
  HG_RETURN_IF_ERROR(PushGradients(next, figures));
  HG_RETURN_IF_ERROR(Update(epoch, step, figures));
  // All of the step has been given to the device, and its figures may come later.
  next.tensors.reset();
  next.minibatch = {};
  next.blocks = {};
  next.split = {};
  next_epoch_ = epoch;
  next_step_ = step + 1;
  ++steps_done_;
  ++(*figures)[Figure::kSteps];
  if (tuner_.has_value()) {
    HG_RETURN_IF_ERROR(tuner_->Took(lap_.Seconds()));
    result_.threads = tuner_->chosen();
    if (result_.threads.has_value()) metrics_->sample_threads->Set(result_.threads->sample);
  }
  metrics_->TookStep({.seconds = lap_.Seconds(), .seeds = next.rows});
  CountSeconds();
  on_step_(feed_.shards().SeedsInStep(session_.options.batch_size, step));
  return OkStatus();
}

StatusOr<std::shared_ptr<Step>> TrainingLoop::NextStep(EpochFigures* figures) {
  FeedWaits waits;
  auto next = [&] {
    const StepClock::Doing starved(&metrics_->clock(), StageState::kStarved);
    return feed_.Next(&waits);
  }();
  if (!next.ok()) {
    if (session_.stop->requested()) return std::shared_ptr<Step>();
    return next.status();
  }
  (*figures)[Figure::kSampleWait] += waits.sample_s;
  (*figures)[Figure::kFeatureWait] += waits.feature_s;
  metrics_->wait->Add(Nanoseconds(waits.sample_s + waits.feature_s));
  metrics_->sampled_edges->Add(next->minibatch.sampled_edges);
  CountBatch(*next, figures);
  CountServers(*next);
  if (next->counts()) (*figures)[Figure::kLossWeight] += session_.task->LossWeight(*next);
  return std::make_shared<Step>(*std::move(next));
}

void TrainingLoop::CountServers(const Step& batch) {
  const auto add = [&](const char* stage, const CallStats& calls, double seconds) {
    LapCalls& lap = lap_calls_[stage];
    lap.under_way += seconds;
    if (lap.servers.size() < calls.server_seconds.size()) {
      lap.servers.resize(calls.server_seconds.size());
    }
    for (size_t server = 0; server < calls.server_seconds.size(); ++server) {
      lap.servers[server] += calls.server_seconds[server];
    }
  };
  add("sample", batch.sampled, batch.sample_seconds);
  add("gather", batch.pulled, batch.pull_seconds);
  add("learn", batch.learnt, batch.learn_seconds);
}

StatusOr<double> TrainingLoop::StepWeight(const Step* next, int64_t step, EpochFigures* figures) {
  if (!session_.task->weighs_rows()) {
    return static_cast<double>(feed_.shards().SeedsInStep(session_.options.batch_size, step));
  }
  const SyncWait waiting(*this, figures);
  const bool counts = next != nullptr && next->counts();
  const double own = counts ? session_.task->LossWeight(*next) : 0;
  torch::Tensor sum = torch::full({1}, own, torch::kFloat64);
  HG_RETURN_IF_ERROR(
      session_.ranks->AllReduceSum(sum, "all-reduce of the weight of a step's rows"));
  const auto weight = sum.item<double>();
  return weight > 0 ? weight : 1;  // nothing weighs anything: nor is there a loss
}

Status TrainingLoop::Learn(const std::shared_ptr<Step>& next, int64_t epoch, int64_t step,
                           double step_weight, EpochFigures* figures) {
  const TrainOptions& options = session_.options;
  const uint64_t draws_key =
      StepKey(options.seed, TrainerStream::kDropout, static_cast<uint64_t>(epoch),
              static_cast<uint64_t>(step), static_cast<uint64_t>(options.rank));
  const ModelInput input = TrainingInputOf(session_, *next, draws_key);
  const Stopwatch watch;
  HG_RETURN_IF_ERROR(ComputeGradients(next, input, step_weight));
  (*figures)[Figure::kCompute] += watch.Seconds();
  return OkStatus();
}

Status TrainingLoop::ComputeGradients(std::shared_ptr<const Step> batch, const ModelInput& input,
                                      double step_weight) {
  if (batch->rows == 0) return OkStatus();
  const auto outputs = session_.model->Forward(input);
  const BatchLoss loss = session_.task->Loss(outputs, *batch);
  late_.Begin(std::move(batch), loss);
  HG_RETURN_IF_ERROR(late_.TakeAllBut(1));
  // Gradients are then summed over ranks: the mean over the step's rows, wherever they are.
  // Nothing of it may be learnt: rows of a node type that are features taken as they are.
  if (loss.sum.requires_grad()) (loss.sum / step_weight).backward();
  return OkStatus();
}

Status TrainingLoop::PushGradients(const Step& batch, EpochFigures* figures) {
  if (session_.learnt == nullptr) return OkStatus();
  const Stopwatch waiting;
  {
    const StepClock::Doing starved(&metrics_->clock(), StageState::kStarved);
    feed_.AwaitPulls();
  }
  (*figures)[Figure::kFeatureWait] += waiting.Seconds();
  metrics_->wait->Add(Nanoseconds(waiting.Seconds()));
  const StepClock::Doing blocked(&metrics_->clock(), StageState::kBlocked);
  const Stopwatch watch;
  // The ranks have agreed on the step: a signal that comes now takes none of its pushes away.
  HG_RETURN_IF_ERROR(
      session_.learnt->Push(batch.minibatch, nullptr, TraceIdOf(session_.options.rank, batch.key)));
  feed_.Pushed();
  (*figures)[Figure::kPush] += watch.Seconds();
  return OkStatus();
}

Status TrainingLoop::Update(int64_t epoch, int64_t step, EpochFigures* figures) {
  const TrainOptions& options = session_.options;
  const Stopwatch watch;
  if (options.control.clip_norm > 0) {
    const double norm = ClipToNorm(gradients_.flat(), options.control.clip_norm);
    if (!std::isfinite(norm)) {
      return Annotate(NotFinite("the norm of the gradients", norm, options.learning_rate),
                      fmt::format("epoch {}, step {}", epoch, step));
    }
  }
  const double rate = LearningRate(options.control, options.learning_rate,
                                   epoch * length_.steps_per_epoch + step, length_);
  optimizer_.SetLearningRate(rate);
  optimizer_.Step();
  (*figures)[Figure::kLearningRate] = rate;
  (*figures)[Figure::kCompute] += watch.Seconds();
  return OkStatus();
}

Status TrainingLoop::Reduce(EpochStats* stats) {
  stats->figures.SetTraining();
  std::vector<double> own = stats->figures.ToSum();
  const size_t num_figures = own.size();
  own.insert(own.end(), under_way_.metric.begin(), under_way_.metric.end());
  torch::Tensor sums = torch::tensor(own, torch::kFloat64);
  HG_RETURN_IF_ERROR(session_.ranks->AllReduceSum(sums, "all-reduce of an epoch's sums"));
  const std::span<const double> values(sums.data_ptr<double>(), own.size());
  stats->figures.Finish(values.first(num_figures), session_.options.world_size);
  stats->train_metric = session_.task->MetricOf(values.subspan(num_figures));
  stats->train_more = session_.task->MoreMetrics(values.subspan(num_figures));
  return OkStatus();
}

TrainingMoment TrainingLoop::Moment() const {
  return {.epoch = next_epoch_,
          .step = next_step_,
          .steps_done = steps_done_,
          .steps_per_epoch = feed_.steps_per_epoch(),
          .so_far = result_,
          .best_weights = best_weights_.kept(),
          .optimizer = optimizer_,
          .under_way = next_step_ > 0 ? &under_way_ : nullptr};
}

}  // namespace halograph

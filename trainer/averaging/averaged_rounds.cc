// AveragedTraining: the rounds of parts, and their averages.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/stopwatch.h"
#include "trainer/averaging/averaged_training.h"

namespace halograph {

std::string AveragedTraining::NameOf(const Round& round) {
  if (round.end_step == TrainingLoop::kToItsEnd) {
    return fmt::format("epochs {} to {}", round.first, round.end - 1);
  }
  return fmt::format("epoch {}, steps {} to {}", round.first, round.first_step, round.end_step - 1);
}

Status AveragedTraining::TrainRounds(int64_t first, int64_t end) {
  epochs_.assign(static_cast<size_t>(end - first),
                 {{}, std::vector<double>(run_.task->metric().sums)});
  const int64_t steps = run_.options.average_steps;
  if (steps == 0) return TrainRound({.first = first, .end = end});
  if (keeper_ != nullptr) epoch_begin_.Keep();
  int64_t step = 0;
  do {
    HG_RETURN_IF_ERROR(
        TrainRound({.first = first, .end = end, .first_step = step, .end_step = step + steps}));
    if (!result_.stopped && !longest_.has_value()) HG_RETURN_IF_ERROR(AgreeOnLongest());
    step += steps;
  } while (!result_.stopped && step < *longest_);
  open_.reset();
  if (result_.stopped && keeper_ != nullptr) epoch_begin_.PutBack();
  return OkStatus();
}

Status AveragedTraining::TrainRound(const Round& round) {
  HG_ASSIGN_OR_RETURN(const bool stop, TrainParts(round));
  return Average(round, stop);
}

StatusOr<bool> AveragedTraining::TrainParts(const Round& round) {
  for (const int part : parts_.parts()) {
    const auto stopped = TrainPart(part, round);
    if (!KeepsOpen()) open_.reset();
    if (!stopped.ok()) {
      // A signal cancels calls; what they then say is not the reason.
      if (run_.stop->requested()) return true;
      return stopped.status();
    }
    if (*stopped) return true;
  }
  return run_.stop->requested();
}

StatusOr<bool> AveragedTraining::TrainPart(int part, const Round& round) {
  const auto known = steps_of_.find(part);
  if (known != steps_of_.end() && known->second <= round.first_step) return false;
  if (open_ == nullptr) HG_RETURN_IF_ERROR(OpenPart(part, round));
  if (open_ == nullptr) return false;
  TrainingLoop& loop = *open_->loop;
  average_.Restart();
  loop.optimizer().SetMoments(moments_);
  double rows = 0;
  for (int64_t epoch = round.first; epoch < round.end; ++epoch) {
    const auto stats = loop.RunEpoch(epoch, round.first_step, round.end_step);
    if (!stats.ok()) {
      return Annotate(stats.status(), fmt::format("rank {}, part {}", run_.options.rank, part));
    }
    if (loop.stopped()) return true;
    Add(loop, *stats, &epochs_[static_cast<size_t>(epoch - round.first)]);
    rows += stats->figures[Figure::kTrainSeeds];
  }
  Copy(loop.optimizer().Moments(), moments_);
  average_.Add(std::llround(rows) / (round.end - round.first));
  return false;
}

Status AveragedTraining::OpenPart(int part, const Round& round) {
  auto opened = std::make_unique<PartInTraining>();
  HG_ASSIGN_OR_RETURN(opened->part, parts_.Open(part));
  Session& session = opened->part->session;
  TrainOptions& options = session.options;
  const SeedSource& rows = *session.task->source(BatchPurpose::kTrain);
  const int64_t steps = rows.rows() == 0 ? 0 : session.Shards(rows).Steps(options.batch_size);
  steps_of_[part] = steps;
  if (steps == 0) return OkStatus();
  options.epochs = round.end;
  options.control.time_limit = {};  // looked at between epochs, on all ranks together
  if (!KeepsOpen() && round.end_step < steps) {
    // Nothing is prepared that the next opening would prepare again.
    options.control.max_steps = round.first * steps + round.end_step;
  }
  opened->loop = std::make_unique<TrainingLoop>(
      session, on_step_, [](const EpochStats&) { return OkStatus(); },
      TrainingStart{.epoch = round.first, .step = round.first_step});
  open_ = std::move(opened);
  return OkStatus();
}

bool AveragedTraining::KeepsOpen() const {
  return run_.options.average_steps > 0 && parts_.parts().size() == 1;
}

void AveragedTraining::Copy(const std::vector<torch::Tensor>& from,
                            const std::vector<torch::Tensor>& into) {
  for (size_t i = 0; i < into.size(); ++i) {
    torch::Tensor tensor = into[i];
    tensor.copy_(from[i]);
  }
}

void AveragedTraining::Add(const TrainingLoop& loop, const EpochStats& stats, EpochSums* sums) {
  sums->figures.Add(stats.figures);
  const std::span<const double> metric = loop.metric_sums();
  for (size_t i = 0; i < metric.size(); ++i) sums->metric[i] += metric[i];
  sums->figures[Figure::kLearningRate] = stats.figures[Figure::kLearningRate];
}

Status AveragedTraining::Average(const Round& round, bool stop) {
  const Stopwatch watch;
  const std::string what = fmt::format(
      "average of the models of {} (waiting for other ranks to train their parts; --timeout bounds "
      "the wait)",
      NameOf(round));
  HG_RETURN_IF_ERROR(average_.Meet(*run_.ranks, what, &stop));
  result_.stopped = stop;
  EpochFigures& last = epochs_.back().figures;
  last[Figure::kSyncWait] += watch.Seconds();
  last[Figure::kSeconds] += watch.Seconds();
  if (run_.metrics != nullptr) run_.metrics->sync_wait->Add(watch.elapsed());
  return OkStatus();
}

Status AveragedTraining::AgreeOnLongest() {
  torch::Tensor longest = torch::zeros({run_.options.world_size}, torch::kFloat64);
  double own = 0;
  for (const auto& [part, steps] : steps_of_) own = std::max(own, static_cast<double>(steps));
  longest[run_.options.rank] = own;
  HG_RETURN_IF_ERROR(run_.ranks->AllReduceSum(longest, "all-reduce of the steps of parts"));
  longest_ = std::llround(longest.max().item<double>());
  return OkStatus();
}

}  // namespace halograph

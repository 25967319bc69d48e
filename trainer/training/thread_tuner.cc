#include "trainer/training/thread_tuner.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

std::string_view NameOf(ThreadChoice::By by) {
  switch (by) {
    case ThreadChoice::By::kMeasured:
      return "measurement";
    case ThreadChoice::By::kCutShort:
      return "best so far";
    case ThreadChoice::By::kCheckpoint:
      return "checkpoint";
  }
  return "";
}

}  // namespace

Json ToJson(const ThreadChoice& choice) {
  Json json = {{"threads", choice.split.compute},
               {"sample_threads", choice.split.sample},
               {"gather_threads", choice.split.gather},
               {"by", NameOf(choice.by)},
               {"step_s", nullptr},
               {"splits", choice.splits},
               {"steps", choice.steps}};
  if (choice.step_seconds.has_value()) json["step_s"] = *choice.step_seconds;
  return json;
}

std::string ToText(const ThreadChoice& choice) {
  const std::string of = choice.step_seconds.has_value()
                             ? fmt::format(", {:.1f} ms a step; {} splits were tried in {} steps",
                                           1e3 * *choice.step_seconds, choice.splits, choice.steps)
                             : "";
  return fmt::format("--tune: threads that compute {}, sample {}, gather {} ({}{})",
                     choice.split.compute, choice.split.sample, choice.split.gather,
                     NameOf(choice.by), of);
}

std::optional<int64_t> ThreadTuner::FirstAhead(const TrainOptions& options,
                                               const std::optional<ThreadSplit>& chosen) {
  return options.tune && !chosen.has_value() ? std::optional<int64_t>(1) : std::nullopt;
}

ThreadTuner::ThreadTuner(const Session& session, BatchFeed& feed, std::optional<ThreadSplit> chosen,
                         OnChoice on_choice)
    : session_(session), feed_(feed), on_choice_(std::move(on_choice)), chosen_(chosen) {}

Status ThreadTuner::Tell(const ThreadChoice& choice) const {
  return on_choice_ ? on_choice_(choice) : OkStatus();
}

StatusOr<ThreadLimits> ThreadTuner::Limits() const {
  constexpr int64_t kLimits = 4;
  const ThreadLimits own = feed_.Limits(session_.options.threads);
  const TrainOptions& options = session_.options;
  torch::Tensor all = torch::zeros({options.world_size, kLimits}, torch::kInt64);
  all[options.rank] =
      torch::tensor({own.processors, own.sample, own.gather, own.ahead}, torch::kInt64);
  HG_RETURN_IF_ERROR(session_.ranks->AllReduceSum(all, "telling of the threads of each rank"));
  const torch::Tensor fewest = all.amin(0);
  const auto limit = [&](int64_t which) { return static_cast<int>(fewest[which].item<int64_t>()); };
  return ThreadLimits{limit(0), limit(1), limit(2), all.amax(0)[3].item<int>()};
}

Status ThreadTuner::Begin() {
  if (chosen_.has_value()) {
    Use(*chosen_);
    return Tell({.split = *chosen_, .by = ThreadChoice::By::kCheckpoint});
  }
  HG_ASSIGN_OR_RETURN(const ThreadLimits limits, Limits());
  search_.emplace(limits);
  if (search_->done()) return Choose();
  Use(search_->split());
  return OkStatus();
}

Status ThreadTuner::Took(double seconds) {
  if (!search_.has_value()) return OkStatus();
  const std::optional<double> visit = search_->Count(seconds);
  if (!visit.has_value()) return OkStatus();
  const torch::Tensor of_rank_0 = torch::tensor({*visit}, torch::kFloat64);
  HG_RETURN_IF_ERROR(
      session_.ranks->Broadcast(of_rank_0, "telling how long steps take with so many threads"));
  search_->Take(of_rank_0.item<double>());
  if (search_->done()) return Choose();
  Use(search_->split());
  return OkStatus();
}

Status ThreadTuner::Choose() {
  const auto best = search_->best();
  const ThreadChoice choice{
      .split = search_->split(),
      .by = ThreadChoice::By::kMeasured,
      .step_seconds = best.has_value() ? std::optional(best->step_seconds) : std::nullopt,
      .splits = search_->visited(),
      .steps = search_->steps()};
  chosen_ = choice.split;
  search_.reset();
  Use(*chosen_);
  feed_.KeepAhead(std::nullopt);
  return Tell(choice);
}

Status ThreadTuner::End() {
  const auto best = search_.has_value() ? search_->best() : std::nullopt;
  if (!best.has_value()) return OkStatus();
  Use(best->split);
  const ThreadChoice choice{.split = best->split,
                            .by = ThreadChoice::By::kCutShort,
                            .step_seconds = best->step_seconds,
                            .splits = search_->visited(),
                            .steps = search_->steps()};
  search_.reset();
  return Tell(choice);
}

void ThreadTuner::Use(const ThreadSplit& split) {
  at::set_num_threads(split.compute);
  feed_.Limit(split);
  if (search_.has_value()) feed_.KeepAhead(search_->AheadOf(split));
}

}  // namespace halograph

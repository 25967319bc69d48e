#include "common/state/engine/steps/step_collector.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "common/base/list_some.h"

namespace halograph {
namespace {

// That are told from new ones. Not those of a time: what a push does follows from the log alone,
// and it has no dates. A run a second, each ended by the next, makes so many in 18 hours.
constexpr size_t kPastRuns = 65536;
constexpr int32_t kMaxWorldSize = 1 << 20;
constexpr int32_t kMaxChunks = 1 << 20;
constexpr size_t kNamedRanks = 8;
constexpr int64_t kMaxStep = int64_t{1} << 53;  // that a double holds, too

}  // namespace

void WaitingPush::ForgetCopy() {
  copied = false;
  ids = {};
  values = {};
  rows = {};
  record.push.ids = {};
  record.push.rows = {};
}

int64_t StepCollector::DueStep() const {
  return memory_.started ? memory_.step + 1 : waiting_.begin()->first;
}

Status StepCollector::Check(const SyncStep& step, PushKind kind, int64_t bytes,
                            const WaitingBytes& memory) const {
  HG_RETURN_IF_ERROR(CheckOrder(step, kind));
  if (Completes(step)) return OkStatus();
  int64_t free = memory.free();
  if (!IsDue(step)) free -= memory.most() / 2;
  if (bytes <= free) return OkStatus();
  if (!IsOfRun(step)) {  // those of the run before are given up
    for (const auto& push : Waiting()) free += push->bytes;
  }
  return bytes <= free ? OkStatus() : DoesNotFit(step, bytes, free, memory);
}

bool StepCollector::IsDue(const SyncStep& step) const {
  if (!IsOfRun(step) || (waiting_.empty() && !memory_.started)) return true;
  return step.step <= DueStep();  // a run that has completed none may begin with a smaller one
}

// Whether it needs no copy: TakeComplete gives it at once.
bool StepCollector::Completes(const SyncStep& step) const {
  if (!IsDue(step)) return false;
  const auto due = IsOfRun(step) ? waiting_.find(step.step) : waiting_.end();
  const int32_t ranks = due == waiting_.end() ? 0 : due->second.ranks;
  const int32_t chunks = due == waiting_.end() ? 0 : ChunksOf(due->second.pushes, step.rank);
  return chunks + 1 == step.chunks && ranks + 1 == step.world_size;
}

Status StepCollector::DoesNotFit(const SyncStep& step, int64_t bytes, int64_t free,
                                 const WaitingBytes& memory) const {
  const int64_t most = memory.most();
  int64_t of_step = bytes;
  const auto same = waiting_.find(step.step);
  if (IsOfRun(step) && same != waiting_.end()) {
    for (const auto& [rank, push] : same->second.pushes) of_step += push->bytes;
  }
  std::string waits = IsOfRun(step) ? Missing() : "";
  const bool others_wait = (IsOfRun(step) ? memory.free() : free) < most;
  if (waits.empty() && others_wait) waits = "steps of other tensors wait, or of other parts";
  const std::string what =
      of_step > most
          ? fmt::format(
                "step {} does not fit into the memory of pushes that wait for other ranks, "
                "even alone: it needs more than {} of {} bytes",
                step.step, of_step, most)
          : fmt::format(
                "a push of {} bytes to step {} does not fit into the memory of pushes that "
                "wait for other ranks, of which {} of {} bytes are free for {}",
                bytes, step.step, std::max<int64_t>(0, free), most,
                IsDue(step) ? "it" : "steps behind the one that is due");
  return ResourceExhausted("{}{}{}; raise --state-waiting, or push fewer rows a step", what,
                           waits.empty() ? "" : ": ", waits);
}

Status StepCollector::CheckOrder(const SyncStep& step, PushKind kind) const {
  if (step.world_size < 1 || step.world_size > kMaxWorldSize || step.rank < 0 ||
      step.rank >= step.world_size) {
    return InvalidArgument("rank {} of {}: ranks count from 0, and there are 1 to {}", step.rank,
                           step.world_size, kMaxWorldSize);
  }
  if (step.chunks < 1 || step.chunks > kMaxChunks || step.chunk < 0 || step.chunk >= step.chunks) {
    return InvalidArgument("chunk {} of {}: chunks count from 0, and there are 1 to {}", step.chunk,
                           step.chunks, kMaxChunks);
  }
  if (step.step < 0 || step.step > kMaxStep) {
    return InvalidArgument("step {}: steps count from 0 to {}", step.step, kMaxStep);
  }
  if (step.step <= memory_.step) {
    return FailedPrecondition(
        "step {} is over: the last one applied is {}; restore a snapshot to go back", step.step,
        memory_.step);
  }
  if (memory_.world_size == 0 || step.run != memory_.run) {
    const auto& past = memory_.past_runs;
    if (std::find(past.begin(), past.end(), step.run) == past.end()) return CheckFirst(step);
    return FailedPrecondition(
        "run {:016x} is over: another run of the trainer, or a restored "
        "snapshot, followed it",
        step.run);
  }
  if (step.world_size != memory_.world_size) {
    return FailedPrecondition("rank {} pushes as one of {}, its run has {} ranks", step.rank,
                              step.world_size, memory_.world_size);
  }
  if (waiting_.empty() && !memory_.started) return CheckFirst(step);
  const int64_t due = DueStep();
  if (step.step > due + kPushWindow) {
    return ResourceExhausted("step {} is more than {} ahead: {}", step.step, kPushWindow,
                             Missing());
  }
  const auto same = waiting_.find(step.step);
  if (same == waiting_.end()) return OkStatus();
  const ByRank& pushes = same->second.pushes;
  const auto of_rank = pushes.lower_bound({step.rank, 0});
  const bool more = of_rank != pushes.end() && of_rank->first.first == step.rank;
  if (more && of_rank->second->step().chunks != step.chunks) {
    return FailedPrecondition("rank {} pushes step {} in {} chunks and in {}", step.rank, step.step,
                              of_rank->second->step().chunks, step.chunks);
  }
  if (pushes.contains({step.rank, step.chunk})) {
    return FailedPrecondition("rank {} pushed step {} before; do two processes have one rank?",
                              step.rank, step.step);
  }
  if (pushes.begin()->second->record.push.kind != kind) {
    return InvalidArgument(
        "rank {} pushes step {} in another way than rank {}: a step is all "
        "gradients, all to add, or all to assign",
        step.rank, step.step, pushes.begin()->first.first);
  }
  return OkStatus();
}

Status StepCollector::CheckFirst(const SyncStep& step) const {
  if (step.step - memory_.step <= kMaxSkippedSteps) return OkStatus();
  return InvalidArgument(
      "step {} is the first one of run {:016x}, and more than {} above the last one applied, {}, "
      "after which all smaller ones would be over: number the steps from there on, or drop the "
      "tensor",
      step.step, step.run, kMaxSkippedSteps, memory_.step);
}

WaitingPushes StepCollector::Add(std::shared_ptr<WaitingPush> push) {
  WaitingPushes given_up;
  const SyncStep step = push->step();
  if (memory_.world_size == 0 || step.run != memory_.run) BeginRun(step, &given_up);
  OfStep& of = waiting_[step.step];
  of.pushes[{step.rank, step.chunk}] = std::move(push);
  if (ChunksOf(of.pushes, step.rank) == step.chunks) ++of.ranks;
  return given_up;
}

WaitingPushes StepCollector::TakeComplete() {
  WaitingPushes complete;
  const auto first = waiting_.begin();
  if (first == waiting_.end() || first->first != DueStep() ||
      first->second.ranks < memory_.world_size) {
    return complete;
  }
  for (auto& [rank, push] : first->second.pushes) complete.push_back(std::move(push));
  memory_.step = first->first;
  memory_.started = true;
  waiting_.erase(first);
  return complete;
}

void StepCollector::BeginRun(const SyncStep& step, WaitingPushes* given_up) {
  *given_up = Waiting();
  EndRun();
  memory_.run = step.run;
  memory_.world_size = step.world_size;
}

void StepCollector::EndRun() {
  waiting_.clear();
  if (memory_.world_size == 0) return;
  memory_.past_runs.push_back(memory_.run);
  if (memory_.past_runs.size() > kPastRuns) memory_.past_runs.erase(memory_.past_runs.begin());
  memory_.world_size = 0;
  memory_.started = false;
}

WaitingPushes StepCollector::Restart(int64_t step) {
  WaitingPushes given_up = Waiting();
  EndRun();
  memory_.step = step;
  return given_up;
}

WaitingPushes StepCollector::Newest() const {
  WaitingPushes newest;
  for (auto step = waiting_.rbegin(); step != waiting_.rend() && newest.empty(); ++step) {
    for (const auto& [rank, push] : step->second.pushes) {
      if (push->bytes > 0) newest.push_back(push);
    }
  }
  return newest;
}

WaitingPushes StepCollector::Waiting() const {
  WaitingPushes all;
  for (const auto& [step, of] : waiting_) {
    for (const auto& [rank, push] : of.pushes) all.push_back(push);
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a->record.lsn < b->record.lsn; });
  return all;
}

bool StepCollector::HasAll(const ByRank& pushes, int32_t rank) {
  const auto of_rank = pushes.lower_bound({rank, 0});
  return of_rank != pushes.end() && of_rank->first.first == rank &&
         ChunksOf(pushes, rank) == of_rank->second->step().chunks;
}

int32_t StepCollector::ChunksOf(const ByRank& pushes, int32_t rank) {
  return static_cast<int32_t>(
      std::distance(pushes.lower_bound({rank, 0}), pushes.lower_bound({rank + 1, 0})));
}

std::string StepCollector::Missing() const {
  if (waiting_.empty()) return "";
  const int64_t due = DueStep();
  const auto found = waiting_.find(due);
  std::vector<int32_t> missing;
  for (int32_t rank = 0; rank < memory_.world_size; ++rank) {
    if (found == waiting_.end() || !HasAll(found->second.pushes, rank)) missing.push_back(rank);
  }
  return fmt::format("step {} waits for the push of rank {} (world size {})", due,
                     ListSome(missing, kNamedRanks, std::identity()), memory_.world_size);
}

}  // namespace halograph

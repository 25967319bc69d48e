// A start whose log has more pushes that wait for other ranks than may. Which steps are complete in
// the end it does not know before the end of the log. So the first replay leaves out the newest
// steps while there is no room, and only at the end chooses what is given up. If it left out more
// than that, a second replay leaves out what is given up, and nothing else.
#include <algorithm>

#include "common/state/engine/checkpoint/moment.h"
#include "common/state/engine/store.h"

namespace halograph {
namespace {

int64_t NewestLsn(const WaitingPushes& pushes) {
  int64_t newest = 0;
  for (const auto& push : pushes) newest = std::max(newest, push->record.lsn);
  return newest;
}

// Their copies, those that were left out, too.
int64_t BytesOf(const WaitingPushes& pushes) {
  int64_t bytes = 0;
  for (const auto& push : pushes) bytes += push->bytes + push->left_out;
  return bytes;
}

}  // namespace

void Store::LeaveOutWaiting(WaitingPush* push) {
  if (!left_out_.has_value()) return LeaveOutNewest();
  if (push == nullptr || push->bytes == 0) return;
  const auto of_tensor = left_out_->find(push->record.tensor);
  if (of_tensor == left_out_->end()) return;
  const auto& [run, step] = of_tensor->second;
  if (push->step().run != run || push->step().step <= step) return;
  LeaveOut(*push);
}

void Store::LeaveOutNewest() {
  while (waiting_->free() < 0) {
    WaitingPushes newest;
    for (const auto& [number, tensor] : tensors_) {
      WaitingPushes of_tensor = tensor->progress.steps.Newest();
      if (NewestLsn(of_tensor) > NewestLsn(newest)) newest = std::move(of_tensor);
    }
    if (newest.empty()) return;  // other parts have it all
    for (const auto& push : newest) LeaveOut(*push);
  }
}

void Store::LeaveOut(WaitingPush& push) {
  push.left_out = push.bytes;
  CountWaiting(push, -push.bytes);
  push.ForgetCopy();
}

Status Store::EndReplay() {
  const MonitorLock lock(*monitor_);
  given_up_ = left_out_.has_value() ? *left_out_ : Choose();
  bool lacks = rows_lack_steps_;
  for (const auto& [number, tensor] : tensors_) {
    if (given_up_.contains(number)) continue;
    const WaitingPushes waiting = tensor->progress.steps.Waiting();
    lacks = lacks || std::any_of(waiting.begin(), waiting.end(),
                                 [](const auto& push) { return push->left_out > 0; });
  }
  if (left_out_.has_value()) {
    const bool same = std::all_of(given_up_.begin(), given_up_.end(), [&](const auto& chosen) {
      const StepCollector& steps = tensors_.at(chosen.first)->progress.steps;
      return !steps.empty() && steps.memory().run == chosen.second.run &&
             steps.step() == chosen.second.step;
    });
    if (same && !lacks) return OkStatus();
    return Unavailable("the log changed between two readings of it: start again");
  }
  if (!lacks) return OkStatus();
  begins_again_ = true;
  return Unavailable("the log has to be read again: pushes were left out for want of room");
}

// With one of its steps the whole run is over.
Store::GivenUp Store::Choose() const {
  struct Candidate {
    int64_t newest = 0;  // LSN
    int64_t bytes = 0;
    uint32_t tensor = 0;
    RunAfter run = {};
  };
  std::vector<Candidate> candidates;
  int64_t bytes = 0;
  for (const auto& [number, tensor] : tensors_) {
    const StepCollector& steps = tensor->progress.steps;
    const WaitingPushes waiting = steps.Waiting();
    if (waiting.empty()) continue;
    candidates.push_back(
        {NewestLsn(waiting), BytesOf(waiting), number, {steps.memory().run, steps.step()}});
    bytes += candidates.back().bytes;
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const auto& a, const auto& b) { return a.newest > b.newest; });
  const int64_t room = waiting_->free() + waiting_bytes_;  // beside other parts
  GivenUp chosen;
  for (const Candidate& candidate : candidates) {
    if (bytes <= room) break;
    chosen[candidate.tensor] = candidate.run;
    bytes -= candidate.bytes;
  }
  return chosen;
}

bool Store::GiveUpWaiting() {
  const MonitorLock lock(*monitor_);
  for (const auto& [number, run] : given_up_) {
    LiveTensor& tensor = *tensors_.at(number);
    StepCollector& steps = tensor.progress.steps;
    const WaitingPushes waiting = steps.Waiting();
    const auto [first, last] = std::minmax_element(
        waiting.begin(), waiting.end(),
        [](const auto& a, const auto& b) { return a->step().step < b->step().step; });
    if (options_.on_given_up != nullptr) {
      options_.on_given_up(tensor.spec.ref, (*first)->step().step, (*last)->step().step,
                           std::ssize(waiting));
    }
    Applied(tensor, steps.Restart(steps.step()));
  }
  return !given_up_.empty();
}

}  // namespace halograph

// A start whose log has more pushes that wait for other ranks than may. Which steps are complete in
// the end, it does not know before the end of the log: it leaves out the newest ones, and if one of
// them turns out to be complete it begins once more, and takes all.
#include <algorithm>

#include "common/state/engine/checkpoint/moment.h"
#include "common/state/engine/store.h"

namespace halograph {

void Store::LeaveOutNewest() {
  while (waiting_->free() < 0) {
    WaitingPushes newest;
    const auto lsn = [](const WaitingPushes& pushes) {
      int64_t last = 0;
      for (const auto& push : pushes) last = std::max(last, push->record.lsn);
      return last;
    };
    for (const auto& [number, tensor] : tensors_) {
      WaitingPushes of_tensor = tensor->progress.steps.Newest();
      if (lsn(of_tensor) > lsn(newest)) newest = std::move(of_tensor);
    }
    if (newest.empty()) return;  // other parts have it all
    for (const auto& push : newest) {
      CountWaiting(*push, -push->bytes);
      push->left_out = true;
      push->ids = {};
      push->values = {};
      push->rows = {};
      push->record.push.ids = {};
      push->record.push.rows = {};
    }
  }
}

bool Store::GiveUpLeftOut() {
  bool any = false;
  const MonitorLock lock(*monitor_);
  LeaveOutNewest();
  for (const auto& [number, tensor] : tensors_) {
    StepCollector& steps = tensor->progress.steps;
    const WaitingPushes waiting = steps.Waiting();
    if (std::none_of(waiting.begin(), waiting.end(), [](auto& push) { return push->left_out; })) {
      continue;
    }
    any = true;
    const auto [first, last] = std::minmax_element(
        waiting.begin(), waiting.end(),
        [](const auto& a, const auto& b) { return a->step().step < b->step().step; });
    if (options_.on_given_up != nullptr) {
      options_.on_given_up(tensor->spec.ref, (*first)->step().step, (*last)->step().step,
                           std::ssize(waiting));
    }
    Applied(*tensor, steps.Restart(steps.step()));
  }
  return any;
}

}  // namespace halograph

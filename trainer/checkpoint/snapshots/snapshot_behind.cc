#include "trainer/checkpoint/snapshots/snapshot_behind.h"

#include <chrono>
#include <utility>

namespace halograph {
namespace {

// Says what the run does where the store advises whoever keeps it.
Status InTime(const Status& taken) {
  const std::string found = Message(taken);
  if (!absl::IsFailedPrecondition(taken) || found.find(" is over: ") == std::string::npos) {
    return taken;
  }
  return FailedPrecondition(
      "the store heard of its snapshot too late ({}); a checkpoint is taken as soon as training "
      "hears of this",
      found.substr(0, found.find(';')));
}

}  // namespace

void SnapshotBehind::Ask(int64_t steps_done, int64_t step) {
  GiveUp();
  steps_done_ = steps_done;
  cancel_ = std::make_unique<CancelToken>();
  std::string name = snapshots_.NewName(steps_done);
  auto take = [&snapshots = snapshots_, cancel = cancel_.get(), name, step] {
    CallContext context{.cancel = cancel};
    return InTime(snapshots.Take(name, step, context));
  };
  asked_ = {.name = std::move(name), .kept = std::async(std::launch::async, std::move(take))};
}

bool SnapshotBehind::Asked(int64_t steps_done) const {
  return asked_.kept.valid() && steps_done_ == steps_done;
}

bool SnapshotBehind::CameTooLate(int64_t steps_done) const {
  return Asked(steps_done) &&
         asked_.kept.wait_for(std::chrono::seconds(0)) == std::future_status::ready &&
         absl::IsFailedPrecondition(asked_.kept.get());
}

void SnapshotBehind::GiveUp() {
  if (!asked_.kept.valid()) return;
  cancel_->Cancel();
  asked_.kept.wait();
  asked_ = {};
}

}  // namespace halograph

// Checkpoints: learnt inputs of the best evaluation so far.
#include <utility>

#include "common/base/log.h"
#include "trainer/checkpoint/checkpoints.h"

namespace halograph {

StatusOr<bool> Checkpoints::Agree(bool answer, const char* what) {
  torch::Tensor agreed = torch::full({1}, answer ? 1 : 0, torch::kInt64);
  HG_RETURN_IF_ERROR(session_.ranks->Broadcast(agreed, what));
  return agreed.item<int64_t>() == 1;
}

// An evaluation ends with sums over all ranks: all have pushed the step before it, and the next one
// is not complete without rank 0.
StatusOr<bool> Checkpoints::KeepBestInputs(int64_t steps_done) {
  HG_RETURN_IF_ERROR(AwaitWriter());
  if (snapshots_ != nullptr) {
    auto kept = KeepLearnt(steps_done);
    best_inputs_.reset();
    if (kept.ok()) {
      best_inputs_ = *std::move(kept);
    } else {
      spdlog::warn("the learnt inputs of the best evaluation so far are not kept: {}",
                   ToString(kept.status()));
    }
    snapshots_->Spare(best_inputs_.has_value() ? best_inputs_->name : "");
  }
  return Agree(best_inputs_.has_value(), "keeping the best learnt inputs");
}

StatusOr<bool> Checkpoints::PutBackBestInputs() {
  bool back = false;
  if (snapshots_ != nullptr && best_inputs_.has_value()) {
    back = best_inputs_->next_step == session_.learnt->next_step();  // they are the last ones
    if (!back) {
      CallContext context;
      const Status status = snapshots_->GoBackTo(best_inputs_->name, context);
      back = status.ok();
      if (!back) {
        spdlog::warn(
            "the learnt inputs of the best evaluation are not set back, so that weights "
            "and inputs are the last ones: {}",
            ToString(status));
      }
    }
  }
  return Agree(back, "setting the best learnt inputs back");
}

}  // namespace halograph

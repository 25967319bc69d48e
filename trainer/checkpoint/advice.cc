// Checkpoints: which one to go on from after an error.
#include <iterator>

#include "trainer/checkpoint/checkpoints.h"
#include "trainer/training/not_finite.h"

namespace halograph {

std::string Checkpoints::Advice(const Status& error) {
  if (writer_ == nullptr) return "";
  session_.ranks->Leave(ToString(error));
  Wait();
  const auto last = writer_->last().has_value() ? writer_->last() : resumed_from_;
  if (!last.has_value()) return "; no checkpoint had been taken yet";
  // Weights that are finite may give a loss that is not.
  const bool begins_here = last->filename() == CheckpointName(asked_for_ - 1);
  if (IsOfNotFinite(error) && begins_here) return AdviceOnStepBefore(*last);
  return fmt::format("; the last good checkpoint is {}", last->string());
}

std::string Checkpoints::AdviceOnStepBefore(const std::filesystem::path& last) const {
  const auto there = ListCheckpoints(options_.folder);
  if (there.ok()) {
    if (const auto found = there->lower_bound(asked_for_ - 1); found != there->begin()) {
      return fmt::format(
          "; the last good checkpoint is {}. The newer one, {}, is of the moment before this step, "
          "so that whoever goes on from it comes to the same at once: to go on from the last good "
          "one, remove the newer one",
          std::prev(found)->second.string(), last.string());
    }
  }
  return fmt::format(
      "; there is no good checkpoint: {} is of the moment before this step, so that whoever goes "
      "on from it comes to the same at once. Begin anew, in another folder",
      last.string());
}

}  // namespace halograph

#include "common/state/engine/steps/applied_pushes.h"

namespace halograph {

void AppliedPushes::Complete(std::span<const int64_t> lsns) {
  complete_.insert(lsns.begin(), lsns.end());
  Forget();
}

void AppliedPushes::Apply(int64_t lsn) {
  missing_.erase(lsn);
  Forget();
}

bool AppliedPushes::Show(int64_t lsn) const {
  if (missing_.empty() || *missing_.begin() > lsn) return true;
  return complete_.contains(lsn) && !missing_.contains(lsn);
}

std::optional<int64_t> AppliedPushes::missing() const {
  if (missing_.empty()) return std::nullopt;
  return *missing_.begin();
}

std::vector<int64_t> AppliedPushes::complete() const {
  return {complete_.begin(), complete_.end()};
}

void AppliedPushes::Forget() {
  if (missing_.empty()) {
    complete_.clear();
    return;
  }
  complete_.erase(complete_.begin(), complete_.lower_bound(*missing_.begin()));
  while (complete_.size() > kMost) complete_.erase(complete_.begin());
}

}  // namespace halograph

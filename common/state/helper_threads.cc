#include "common/state/helper_threads.h"

#include <algorithm>

#include "common/base/processors.h"

namespace halograph {

std::unique_ptr<HelperThreads> HelperThreads::Make(int threads) {
  const int processors = AvailableProcessors();
  const int used = threads > 0 ? std::min(threads, processors) : processors;
  if (used <= 1) return nullptr;
  return std::make_unique<HelperThreads>(std::min(used - 1, kMost), processors);
}

HelperThreads::HelperThreads(int threads, int processors)
    : processors_(processors),
      pool_("hg-push-help", static_cast<size_t>(threads), 2 * static_cast<size_t>(threads)) {}

HelperThreads::Share::Share(HelperThreads* helpers, size_t bytes) : helpers_(helpers) {
  if (helpers_ == nullptr) return;
  const int callers = ++helpers_->callers_;
  const auto threads = static_cast<int>(helpers_->pool_.threads());
  if (bytes < kLeastBytes || callers + threads > helpers_->processors_) return;
  ++helpers_->shared_;
  pool_ = &helpers_->pool_;
  pool_->MoveAside();
}

HelperThreads::Share::~Share() {
  if (helpers_ != nullptr) --helpers_->callers_;
}

}  // namespace halograph

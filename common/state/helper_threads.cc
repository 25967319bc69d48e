#include "common/state/helper_threads.h"

#include <algorithm>
#include <thread>

#include <sched.h>

namespace halograph {
namespace {

int ProcessorsToRunOn() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

std::unique_ptr<HelperThreads> HelperThreads::Make(int threads) {
  const int processors = ProcessorsToRunOn();
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

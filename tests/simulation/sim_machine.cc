#include "tests/simulation/sim_machine.h"

#include "tests/simulation/sim_env.h"

namespace halograph::sim {

SimMachine::SimMachine(SimScheduler* scheduler, int process, uint64_t seed)
    : scheduler_(scheduler), process_(process), random_(seed) {
  constexpr int64_t kSlowest[] = {0, 200 * kMicrosecond, 5 * kMillisecond};
  slowest_sync_ns_ = kSlowest[random_.Below(3)];
}

std::unique_ptr<Env> SimMachine::Boot() {
  crashed_ = false;
  sync_failed_ns_ = kForever;
  return std::make_unique<SimEnv>(this, ++generation_);
}

void SimMachine::CrashAfter(int64_t calls, bool only_files, CrashKind kind) {
  crash_in_ = calls;
  crash_in_files_ = only_files;
  planned_kind_ = kind;
}

void SimMachine::Heal() {
  crash_in_ = 0;
  faults_ = {};
  disk_.SetCapacity(SimDisk::kPlenty);
}

void SimMachine::CrashNow(CrashKind kind) {
  crash_in_ = 0;
  crashed_ = true;
  crash_kind_ = kind;
  crashed_ns_ = scheduler_->now_ns();
  if (kind == CrashKind::kPowerLoss) disk_.PowerLoss(random_);
  scheduler_->BeginExclusive(process_);
}

void SimMachine::WoundUp() { scheduler_->EndExclusive(); }

}  // namespace halograph::sim

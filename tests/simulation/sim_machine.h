// A simulated machine: a disk, and at most one process that uses it through Env. The machine
// crashes by itself after a given number of the process's calls, in the middle of one; the
// process's later calls then fail without effect, so that its threads wind up and what it built can
// be destroyed. The next process finds what the crash left.
//
// Used by the threads of one SimScheduler; see there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "common/state/env.h"
#include "tests/simulation/sim_disk.h"
#include "tests/simulation/sim_random.h"
#include "tests/simulation/sim_scheduler.h"

namespace halograph::sim {

enum class CrashKind : uint8_t {
  kKill,       // of the process: the page cache stays
  kPowerLoss,  // of the machine: unsynced writes may be lost
};

// Chances of a fault in each call.
struct FaultChances {
  double write = 0;
  double sync = 0;
  double read = 0;
  double names = 0;  // Rename, SyncFolder
};

class SimMachine {
 public:
  // `process`: of its threads.
  SimMachine(SimScheduler* scheduler, int process, uint64_t seed);
  SimMachine(const SimMachine&) = delete;
  SimMachine& operator=(const SimMachine&) = delete;

  // A new process; the one before is over. It lives as long as its Env.
  [[nodiscard]] std::unique_ptr<Env> Boot();
  // Crashes in the middle of the `calls`-th call from now. `only_files`: counts those of files
  // alone.
  void CrashAfter(int64_t calls, bool only_files, CrashKind kind);
  void CrashNow(CrashKind kind);
  // Nothing goes wrong any more: no crash is planned, no call fails, and the disk has room.
  void Heal();
  // Meanwhile nothing goes wrong: no call counts for a crash, and none fails.
  void HoldTrouble(bool hold) { held_ = hold; }

  // Of the process: a crash ended it. Then only its threads run until WoundUp, which whoever
  // destroyed the last of it calls.
  [[nodiscard]] bool crashed() const { return crashed_; }
  [[nodiscard]] CrashKind crash_kind() const { return crash_kind_; }
  [[nodiscard]] int64_t crashed_ns() const { return crashed_ns_; }
  void WoundUp();

  SimDisk& disk() { return disk_; }
  [[nodiscard]] int64_t free_bytes() const { return disk_.free_bytes(); }
  FaultChances& faults() { return faults_; }
  // Faults that happened so far, crashes left out.
  [[nodiscard]] int64_t num_faults() const { return num_faults_; }
  // When a Sync of this process failed for the first time; kForever: none did.
  [[nodiscard]] int64_t sync_failed_ns() const { return sync_failed_ns_; }
  // What a process must not do, such as direct writes that are not aligned: empty if it did not.
  [[nodiscard]] const std::string& misuse() const { return misuse_; }

  // The disk as it is, to be put back with no process alive.
  [[nodiscard]] SimDisk TakeImage() const { return disk_; }
  void PutImage(SimDisk image) { disk_ = std::move(image); }

 private:
  [[nodiscard]] FaultChances FaultsNow() const { return held_ ? FaultChances{} : faults_; }

  friend class SimEnv;
  friend class SimFiles;
  friend class SimWritable;
  friend class SimReadable;

  SimScheduler* scheduler_;
  int process_;
  Random random_;
  SimDisk disk_;
  FaultChances faults_;
  int64_t generation_ = 0;
  int64_t crash_in_ = 0;
  bool crash_in_files_ = false;
  CrashKind planned_kind_ = CrashKind::kKill;
  CrashKind crash_kind_ = CrashKind::kKill;
  bool crashed_ = false;
  int64_t num_faults_ = 0;
  int64_t crashed_ns_ = 0;
  int64_t sync_failed_ns_ = kForever;
  bool held_ = false;
  int64_t slowest_sync_ns_;
  std::string misuse_;
};

}  // namespace halograph::sim

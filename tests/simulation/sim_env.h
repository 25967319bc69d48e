// One process of a SimMachine as the Env that it runs in.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "common/state/env.h"
#include "tests/simulation/sim_machine.h"

namespace halograph::sim {

class SimEnv : public Env, private Scheduler {
 public:
  SimEnv(SimMachine* machine, int64_t generation);
  ~SimEnv() override;

  [[nodiscard]] Scheduler& scheduler() override { return *this; }
  [[nodiscard]] FileSystem& files() override { return *files_; }
  [[nodiscard]] StatusOr<std::unique_ptr<RowSpace>> OpenRowSpace(
      const std::filesystem::path& folder, int64_t cache_bytes) override;

  // What a call does first. It may hand over to another thread, and the machine may crash.
  enum class Fate : uint8_t {
    kGoOn,
    kCrashAfter,  // takes effect in part, then calls Crash
    kOver,        // the process is over: no effect
  };
  [[nodiscard]] Fate Enter(const char* what, uint64_t detail, bool file);
  void Crash();
  [[nodiscard]] bool over() const;

  // A call that either takes effect wholly or not at all.
  template <typename Effect>
  auto Call(const char* what, uint64_t detail, Effect effect) -> decltype(effect()) {
    const Fate fate = Enter(what, detail, true);
    if (fate == Fate::kOver) return Over();
    if (fate == Fate::kGoOn) return effect();
    if (machine_->random_.Chance(0.5)) static_cast<void>(effect());
    Crash();
    return Over();
  }
  [[nodiscard]] static Status Over();

  SimMachine& machine() { return *machine_; }
  std::set<std::string>& held() { return held_; }  // folders locked, spaces open

 private:
  [[nodiscard]] int64_t NowNs() const override;
  [[nodiscard]] int64_t WallSeconds() const override;
  [[nodiscard]] std::unique_ptr<Monitor> NewMonitor() override;
  void Yield() override { static_cast<void>(Enter("yield", 0, false)); }
  [[nodiscard]] std::unique_ptr<RunningThread> Start(std::string_view name,
                                                     std::function<void()> body) override;

  SimMachine* machine_;
  int64_t generation_;
  std::unique_ptr<FileSystem> files_;
  std::set<std::string> held_;
};

[[nodiscard]] std::unique_ptr<FileSystem> MakeSimFiles(SimEnv* env);

}  // namespace halograph::sim

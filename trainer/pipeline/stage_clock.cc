#include "trainer/pipeline/stage_clock.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

namespace halograph {

StageSeconds& StageSeconds::operator+=(const StageSeconds& other) {
  busy += other.busy;
  starved += other.starved;
  blocked += other.blocked;
  return *this;
}

StageSeconds& StageSeconds::operator-=(const StageSeconds& other) {
  busy -= other.busy;
  starved -= other.starved;
  blocked -= other.blocked;
  return *this;
}

StageClock::Now StageClock::Steady() {
  return [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
}

StageClock::StageClock(const std::vector<size_t>& threads, Now now) : now_(std::move(now)) {
  const double start = now_();
  for (const size_t count : threads) {
    Stage& stage = stages_.emplace_back();
    stage.all = std::max<size_t>(1, count);
    stage.threads[static_cast<size_t>(StageState::kStarved)] = stage.all;
    stage.since = start;
  }
}

void StageClock::Count(double now, Stage* stage) {
  for (size_t state = 0; state < kStates; ++state) {
    stage->seconds[state] += (now - stage->since) * static_cast<double>(stage->threads[state]);
  }
  stage->since = now;
}

void StageClock::Change(size_t stage, StageState from, StageState to) {
  if (from == to) return;
  const MutexLock lock(mutex_);
  Stage& changed = stages_[stage];
  Count(now_(), &changed);
  --changed.threads[static_cast<size_t>(from)];
  ++changed.threads[static_cast<size_t>(to)];
}

std::vector<StageClock::Stage> StageClock::Stages() const {
  const MutexLock lock(mutex_);
  const double now = now_();
  std::vector<Stage> stages = stages_;
  for (Stage& stage : stages) Count(now, &stage);
  return stages;
}

std::vector<StageSeconds> StageClock::Read() const {
  std::vector<StageSeconds> read;
  for (const Stage& stage : Stages()) {
    const double all = std::accumulate(stage.seconds.begin(), stage.seconds.end(), 0.0);
    const double counted = all - stage.Of(StageState::kParked);
    const double elapsed = all / static_cast<double>(stage.all);
    const auto of = [&](StageState state) {
      return counted > 0 ? stage.Of(state) / counted * elapsed : 0.0;
    };
    read.push_back({of(StageState::kBusy), of(StageState::kStarved), of(StageState::kBlocked)});
  }
  return read;
}

std::vector<StageSeconds> StageClock::ReadThreads() const {
  std::vector<StageSeconds> read;
  for (const Stage& stage : Stages()) {
    read.push_back({stage.Of(StageState::kBusy), stage.Of(StageState::kStarved),
                    stage.Of(StageState::kBlocked)});
  }
  return read;
}

}  // namespace halograph

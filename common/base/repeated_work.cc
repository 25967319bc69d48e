#include "common/base/repeated_work.h"

#include <utility>

#include <pthread.h>

namespace halograph {

RepeatedWork::RepeatedWork(std::string thread, std::chrono::nanoseconds first,
                           std::function<std::chrono::nanoseconds()> round)
    : name_(std::move(thread)), round_(std::move(round)), thread_([this, first] { Run(first); }) {}

RepeatedWork::~RepeatedWork() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.NotifyOne();
  }
  thread_.join();
}

void RepeatedWork::Wake() {
  const MutexLock lock(mutex_);
  woken_ = true;
  changed_.NotifyOne();
}

void RepeatedWork::Run(std::chrono::nanoseconds first) {
  pthread_setname_np(pthread_self(), name_.c_str());
  for (std::chrono::nanoseconds pause = first; Wait(pause);) pause = round_();
}

bool RepeatedWork::Wait(std::chrono::nanoseconds pause) {
  const MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, pause, [this]() HG_REQUIRES(mutex_) { return woken_ || ended_; });
  woken_ = false;
  return !ended_;
}

}  // namespace halograph

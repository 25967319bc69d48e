#include "server/runtime/housekeeper.h"

#include <utility>

#include <pthread.h>

namespace halograph::server {

Housekeeper::Housekeeper(std::function<std::chrono::nanoseconds()> round)
    : round_(std::move(round)), thread_([this] { Run(); }) {}

Housekeeper::~Housekeeper() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.NotifyOne();
  }
  thread_.join();
}

void Housekeeper::Wake() {
  const MutexLock lock(mutex_);
  woken_ = true;
  changed_.NotifyOne();
}

void Housekeeper::Run() {
  pthread_setname_np(pthread_self(), "hg-keeper");
  for (;;) {
    const std::chrono::nanoseconds pause = round_();
    const MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, pause, [&]() HG_REQUIRES(mutex_) { return woken_ || ended_; });
    if (ended_) return;
    woken_ = false;
  }
}

}  // namespace halograph::server

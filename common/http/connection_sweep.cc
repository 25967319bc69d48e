#include "common/http/connection_sweep.h"

#include <utility>

#include <sys/socket.h>

namespace halograph {

ConnectionSweep::ConnectionSweep(SweepBounds bounds, std::function<bool(size_t)> crowded)
    : bounds_(std::move(bounds)), crowded_(std::move(crowded)), thread_([this] { Run(); }) {}

ConnectionSweep::~ConnectionSweep() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void ConnectionSweep::Add(int socket) {
  const auto now = bounds_.now();
  const MutexLock lock(mutex_);
  began_[socket] = now;
  if (began_.size() == 1) changed_.NotifyAll();
}

void ConnectionSweep::Remove(int socket) {
  const MutexLock lock(mutex_);
  began_.erase(socket);
}

size_t ConnectionSweep::count() const {
  const MutexLock lock(mutex_);
  return began_.size();
}

int ConnectionSweep::Sweep() {
  const auto now = bounds_.now();
  const MutexLock lock(mutex_);
  const auto longest = crowded_(began_.size()) ? bounds_.longest_if_crowded : bounds_.longest;
  int shut = 0;
  for (const auto& [socket, began] : began_) {
    if (now - began < longest) continue;
    shutdown(socket, SHUT_RDWR);
    ++shut;
  }
  return shut;
}

void ConnectionSweep::Run() {
  while (true) {
    {
      const MutexLock lock(mutex_);
      changed_.Wait(mutex_, [this]() HG_REQUIRES(mutex_) { return ending_ || !began_.empty(); });
      changed_.WaitFor(mutex_, bounds_.pace, [this]() HG_REQUIRES(mutex_) { return ending_; });
      if (ending_) return;
    }
    Sweep();
  }
}

}  // namespace halograph

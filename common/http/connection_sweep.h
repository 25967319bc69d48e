// The connections of an HTTP server, and the end of those that last too long. The server closes
// those that are silent by itself; of one that sends a byte now and then, or that reads its reply
// so slowly that it never ends, only its age tells.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <unordered_map>

#include "common/base/mutex.h"

namespace halograph {

struct SweepBounds {
  // How long a connection may last; and while the server is crowded.
  std::chrono::nanoseconds longest = std::chrono::seconds(10);
  std::chrono::nanoseconds longest_if_crowded = std::chrono::seconds(1);
  std::chrono::nanoseconds pace = std::chrono::milliseconds(250);  // between two looks
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

// Thread-safe. Has a thread of its own, which sleeps while there is no connection.
class ConnectionSweep {
 public:
  // `crowded`: whether the server has little room left, given the number of connections. Called
  // with the lock held: it must not call this.
  ConnectionSweep(SweepBounds bounds, std::function<bool(size_t connections)> crowded);
  ~ConnectionSweep();
  ConnectionSweep(const ConnectionSweep&) = delete;
  ConnectionSweep& operator=(const ConnectionSweep&) = delete;

  // A connection began. Its socket stays open until Remove returns.
  void Add(int socket) HG_EXCLUDES(mutex_);
  void Remove(int socket) HG_EXCLUDES(mutex_);
  [[nodiscard]] size_t count() const HG_EXCLUDES(mutex_);

  // Shuts the sockets of those that are too old, which then end as if the peer had closed them.
  // Returns how many.
  int Sweep() HG_EXCLUDES(mutex_);

 private:
  void Run();

  const SweepBounds bounds_;
  const std::function<bool(size_t)> crowded_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool ending_ HG_GUARDED_BY(mutex_) = false;
  std::unordered_map<int, std::chrono::steady_clock::time_point> began_ HG_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace halograph

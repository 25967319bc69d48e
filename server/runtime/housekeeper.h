// One thread for what a server does beside its calls: rounds, every now and then and when woken.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "common/base/mutex.h"

namespace halograph::server {

class Housekeeper {
 public:
  // `round` runs on the thread, at first at once; it says after how long it runs again at the
  // latest. It must not throw.
  explicit Housekeeper(std::function<std::chrono::nanoseconds()> round);
  // Waits for the round that runs.
  ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

  // The next round runs now. Any thread.
  void Wake();

 private:
  void Run();

  const std::function<std::chrono::nanoseconds()> round_;
  Mutex mutex_;
  CondVar changed_;
  bool woken_ HG_GUARDED_BY(mutex_) = false;
  bool ended_ HG_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace halograph::server

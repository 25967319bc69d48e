// Rounds of work in a thread of their own: now and then, and when woken. A look at a file, say, or
// what a server does beside its calls.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "common/base/mutex.h"

namespace halograph {

class RepeatedWork {
 public:
  // `round` runs on the thread, after `first` at the latest; it says after how long it runs again
  // at the latest. It must not throw. `thread`: its name, at most 15 bytes. std::system_error:
  // there is no thread.
  RepeatedWork(std::string thread, std::chrono::nanoseconds first,
               std::function<std::chrono::nanoseconds()> round);
  // Waits for the round that runs. So this comes last of what the round uses.
  ~RepeatedWork();
  RepeatedWork(const RepeatedWork&) = delete;
  RepeatedWork& operator=(const RepeatedWork&) = delete;

  // The next round runs now. Any thread.
  void Wake();

 private:
  void Run(std::chrono::nanoseconds first);
  // False: it is the end.
  [[nodiscard]] bool Wait(std::chrono::nanoseconds pause);

  const std::string name_;
  const std::function<std::chrono::nanoseconds()> round_;
  Mutex mutex_;
  CondVar changed_;
  bool woken_ HG_GUARDED_BY(mutex_) = false;
  bool ended_ HG_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace halograph

// SIGTERM and SIGINT as the program sees them: waited for on a thread of their own, never handled
// in a signal handler.
#pragma once

#include <condition_variable>
#include <mutex>

namespace halograph::server {

class StopSignals {
 public:
  // Blocks both signals in this thread and all that it starts later: make this first in main. The
  // thread that waits for them lives as long as the process.
  StopSignals();

  // Until this is called the first signal ends the process at once with code 0: there is nothing
  // to drain yet. Afterwards it makes Wait return, and a second one ends the process with code 1.
  void Arm();
  // Waits for the first signal after Arm; its number.
  [[nodiscard]] int Wait();

 private:
  void Handle(int signal);

  std::mutex mutex_;
  std::condition_variable arrived_;
  bool armed_ = false;
  int signal_ = 0;
};

}  // namespace halograph::server

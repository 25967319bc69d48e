// Measures the peak anonymous memory of a process (RssAnon: heap and stacks, without mapped
// files) by reading it every few milliseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <sys/types.h>

namespace halograph {

// RssAnon of a process in bytes; 0 if it is gone.
[[nodiscard]] int64_t AnonymousBytes(pid_t process);

// Watches one process from construction to Stop.
class AnonymousPeak {
 public:
  explicit AnonymousPeak(pid_t process);
  ~AnonymousPeak() { Stop(); }
  AnonymousPeak(const AnonymousPeak&) = delete;
  AnonymousPeak& operator=(const AnonymousPeak&) = delete;

  // The largest value seen, in bytes.
  int64_t Stop();

 private:
  const pid_t process_;
  std::atomic<bool> stop_ = false;
  std::atomic<int64_t> peak_ = 0;
  std::thread watcher_;
};

}  // namespace halograph

// Measures the peak anonymous memory of a process (RssAnon: heap and stacks, without mapped
// files) by reading it every few milliseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <sys/types.h>

namespace halograph {

// Watches one process from construction to Stop, and the children that its first thread starts
// without exec: METIS runs in one. Such a child shares the pages of the process, and what it holds
// includes them, so the largest of all counts, not the sum.
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

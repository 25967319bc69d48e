// One fetch at a time into a cache folder, over all processes and threads of a host: a file lock
// that ends with its process, and whose file tells the progress of its holder.
#pragma once

#include <chrono>
#include <filesystem>
#include <string_view>

#include "client/call_context.h"
#include "common/base/status.h"

namespace halograph {

// Movable; released when destroyed. Note may be called by one thread at a time.
class TopologyFetchLock {
 public:
  // Waits until held; says every few seconds who holds it and what progress that one makes. If
  // the holder dies the lock is free.
  //   DeadlineExceeded  the holder has noted nothing new for `patience`: it is named
  //   Cancelled         the context's token was
  //   FailedPrecondition, ...  the file cannot be opened (ErrnoStatus)
  [[nodiscard]] static StatusOr<TopologyFetchLock> Acquire(const std::filesystem::path& file,
                                                           std::chrono::nanoseconds patience,
                                                           const CallContext& context);
  ~TopologyFetchLock();
  TopologyFetchLock(TopologyFetchLock&& other) noexcept;
  TopologyFetchLock& operator=(TopologyFetchLock&& other) noexcept;

  // What those that wait are told: "fetched 1.2 GiB of 3.4 GiB". Failure is ignored.
  void Note(std::string_view progress);

 private:
  explicit TopologyFetchLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace halograph

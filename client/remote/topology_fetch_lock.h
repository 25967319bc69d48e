// One fetch at a time into a cache folder, over all processes and threads of a host: a file lock
// that ends with its process, and whose file says how far its holder is.
#pragma once

#include <chrono>
#include <filesystem>
#include <string_view>

#include "client/remote/rpc.h"
#include "common/base/status.h"

namespace halograph {

// Movable; released when destroyed. Note may be called by one thread at a time.
class TopologyFetchLock {
 public:
  // Waits until held; says every few seconds who holds it and how far that one is. If the holder
  // dies the lock is free.
  //   DeadlineExceeded  the holder has noted nothing new for `patience`: it is named
  //   Cancelled         `scope` was
  //   FailedPrecondition, ...  the file cannot be opened (ErrnoStatus)
  [[nodiscard]] static StatusOr<TopologyFetchLock> Acquire(const std::filesystem::path& file,
                                                           std::chrono::nanoseconds patience,
                                                           const CallScope& scope);
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

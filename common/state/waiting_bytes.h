// The memory of synchronous pushes that wait for other ranks, which all stores of a process share.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace halograph {

class WaitingBytes {
 public:
  explicit WaitingBytes(int64_t most) : most_(most) {}

  // Also beyond what may be: who adds has looked before.
  void Add(int64_t bytes) { used_ += bytes; }
  void Remove(int64_t bytes) { used_ -= bytes; }

  [[nodiscard]] int64_t most() const { return most_; }
  [[nodiscard]] int64_t free() const { return most_ - used_; }  // negative: it is exceeded

 private:
  const int64_t most_;
  std::atomic<int64_t> used_ = 0;
};

}  // namespace halograph

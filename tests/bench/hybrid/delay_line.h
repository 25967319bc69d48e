// One direction of a TCP connection, with every byte handed on a fixed time after it came: what
// netem's delay does, for kernels without it. Bandwidth is not limited, order is kept.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "common/base/bounded_queue.h"

namespace halograph {

class DelayLine {
 public:
  // At most kChunks * kChunkBytes are on their way; then `from` is not read until some arrived.
  // That is more than 10 Gbit/s carry in 10 ms.
  static constexpr size_t kChunks = 256;
  static constexpr size_t kChunkBytes = 64 << 10;

  // Starts at once. Borrows both sockets: they must outlive the object.
  DelayLine(int from, int to, std::chrono::nanoseconds delay);
  // Waits for the end of the stream: shut the sockets down before if it has not come.
  ~DelayLine();
  DelayLine(const DelayLine&) = delete;
  DelayLine& operator=(const DelayLine&) = delete;

  // The end of the stream, or an error, was handed on.
  [[nodiscard]] bool done() const { return done_.load(); }

 private:
  struct Chunk {
    std::chrono::steady_clock::time_point due;
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0;
  };

  void Read();
  void Write();
  [[nodiscard]] bool Send(const Chunk& chunk) const;

  const int from_;
  const int to_;
  const std::chrono::nanoseconds delay_;
  BoundedQueue<Chunk> queue_{kChunks};
  std::atomic<bool> done_{false};
  std::thread reader_;
  std::thread writer_;
};

}  // namespace halograph

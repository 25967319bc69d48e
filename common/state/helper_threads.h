// Threads that share the work of one large push with the thread that pushes, while processors are
// idle. A process has one set of them for all its stores.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/thread_pool.h"

namespace halograph {

class HelperThreads {
 public:
  // More of them wait for the same memory.
  static constexpr int kMost = 3;
  // Of values: on less a thread that has to wake saves little.
  static constexpr size_t kLeastBytes = size_t{1} << 20;

  // For a process that works on calls with `threads` threads (0: one a processor that it may run
  // on): as many helpers as there are other processors and other threads, at most kMost. Null:
  // that is none.
  [[nodiscard]] static std::unique_ptr<HelperThreads> Make(int threads);
  // Requires 0 < threads < processors.
  HelperThreads(int threads, int processors);

  // A caller's work on `bytes` of values, from here to the end of the block. It is helped if it is
  // large, and if callers that work now and all helpers have a processor each: so helpers never
  // take one from another push or pull of this process. (Of other work they do not know.)
  class Share {
   public:
    // `helpers` may be null: nobody helps.
    Share(HelperThreads* helpers, size_t bytes);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // For ParallelFor; null: nobody helps.
    [[nodiscard]] ThreadPool* pool() const { return pool_; }

   private:
    HelperThreads* const helpers_;
    ThreadPool* pool_ = nullptr;
  };

  // How often callers were helped.
  [[nodiscard]] int64_t shared() const { return shared_; }

 private:
  const int processors_;
  std::atomic<int> callers_ = 0;
  std::atomic<int64_t> shared_ = 0;
  ThreadPool pool_;
};

}  // namespace halograph

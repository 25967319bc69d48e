// The last calls that were slow, for an operator who asks which: the newest of them, no more than
// kMost. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "common/base/mutex.h"

namespace halograph::server {

struct SlowCall {
  double unix_seconds = 0;      // when it ended
  std::string method = {};      // "GraphService/Sample"
  std::string host = {};        // of the client
  std::string rank = {};        // "-": none
  std::string request_id = {};  // "-": none
  std::string trace_id = {};    // "-": none
  std::string principal = {};   // who called; empty: there is no policy, or it was nobody
  std::string status = {};      // "OK", "UNAVAILABLE"
  std::chrono::nanoseconds answering{};
  std::chrono::nanoseconds sending{};  // until its reply was sent, or given up
  int64_t request_bytes = 0;
  int64_t reply_bytes = 0;
};

class SlowCalls {
 public:
  static constexpr size_t kMost = 64;

  void Add(SlowCall call);
  // The newest first.
  [[nodiscard]] std::vector<SlowCall> Take() const;
  // Since the start, also those that are forgotten.
  [[nodiscard]] int64_t count() const;

 private:
  mutable Mutex mutex_;
  std::deque<SlowCall> calls_ HG_GUARDED_BY(mutex_);  // the newest last
  int64_t count_ HG_GUARDED_BY(mutex_) = 0;
};

}  // namespace halograph::server

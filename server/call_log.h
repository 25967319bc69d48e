// The log of one server's calls: each at debug, errors at warning, with the request id and rank
// that came in metadata. Errors are limited to some lines a second, and what was left out is
// counted, so that no client can fill a disk. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/runtime/stats.h"

namespace grpc {
class CallbackServerContext;
}

namespace halograph::server {

// Allows so many lines a second.
class LineLimit {
 public:
  // Whether to write a line now; `*left_out`: lines left out since the last one written.
  [[nodiscard]] bool Allow(int64_t* left_out);

 private:
  Mutex mutex_;
  std::chrono::steady_clock::time_point second_ HG_GUARDED_BY(mutex_);
  int lines_ HG_GUARDED_BY(mutex_) = 0;
  int64_t left_out_ HG_GUARDED_BY(mutex_) = 0;
};

class CallLog {
 public:
  // Calls that were refused (Unavailable) or cancelled are not errors: they are logged at debug.
  void Write(const grpc::CallbackServerContext& context, Method method, const Status& status,
             int64_t request_bytes, int64_t reply_bytes, std::chrono::nanoseconds latency);

 private:
  LineLimit limit_;
};

}  // namespace halograph::server

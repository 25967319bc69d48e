// What is counted of every call: by the names and buckets of gRFC A66, and why calls were refused.
// All that a server tells of its calls is read from here. Thread-safe; a call is counted without
// locks but where its status is an error.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/metrics/registry.h"
#include "common/metrics/snapshot.h"
#include "proto/methods/methods.h"
#include "server/runtime/dispatcher.h"

namespace halograph::server {

// Why a call got UNAVAILABLE.
enum class Refusal : uint8_t {
  kDraining,
  kRequestMemory,  // --request-memory
  kQueueFull,      // --queue, --state-queue
  kReplyMemory,    // --reply-memory
  kWaitingFull,    // too many calls wait for pushes
  kState,          // by its work: the state refuses pushes, or the system has no memory
  kEnd,            // none: how many there are
};

// What was counted of one method's calls, by some time or within some time.
struct MethodSnapshot {
  HistogramSnapshot seconds;  // of calls that ended, whatever their status
  int64_t errors = 0;         // of these, not OK
  int64_t in_flight = 0;
  int64_t request_bytes = 0;
  int64_t reply_bytes = 0;

  [[nodiscard]] int64_t calls() const { return seconds.count; }  // that ended
  // What came since an earlier snapshot; in_flight as it is now.
  [[nodiscard]] MethodSnapshot Since(const MethodSnapshot& earlier) const;
};

class CallMetrics {
 public:
  // `metrics` outlives it.
  explicit CallMetrics(MetricRegistry* metrics);

  void Begin(Method method) {
    Of(method).started->Add();
    Of(method).in_flight->Add(1);
  }
  // Once for each Begin. `status`: "OK", "UNAVAILABLE".
  void End(Method method, std::string_view status, int64_t request_bytes, int64_t reply_bytes,
           std::chrono::nanoseconds latency);
  // How long a call that was answered took to send; a part of its latency.
  void Sent(Method method, std::chrono::nanoseconds sending) { Of(method).sending->Add(sending); }
  void Refused(Refusal why) { refused_[static_cast<size_t>(why)]->Add(); }
  // How long a call waited for a thread.
  void Waited(Lane lane, std::chrono::nanoseconds waited) {
    queue_wait_[static_cast<size_t>(lane)]->Observe(waited);
  }
  // A reply was given up that its client did not read.
  void Unread() { unread_->Add(); }
  void WaitedForMemory(std::chrono::nanoseconds waited) { reply_wait_->Add(waited); }

  // Of calls since the start. Who reads that none is in flight reads all that ended. Takes locks,
  // as Histogram::Take.
  [[nodiscard]] MethodSnapshot Take(Method method) const;

 private:
  struct OfMethod {
    Counter* started = nullptr;
    Gauge* in_flight = nullptr;
    Counter* sending = nullptr;
    // By status; those of OK are kept.
    FoundHistograms* seconds = nullptr;
    FoundHistograms* sent = nullptr;
    FoundHistograms* received = nullptr;
    Histogram* ok_seconds = nullptr;
    Histogram* ok_sent = nullptr;
    Histogram* ok_received = nullptr;
  };
  [[nodiscard]] OfMethod& Of(Method method) { return methods_[static_cast<size_t>(method)]; }
  [[nodiscard]] const OfMethod& Of(Method method) const {
    return methods_[static_cast<size_t>(method)];
  }

  std::array<OfMethod, kNumMethods> methods_{};
  std::array<Counter*, static_cast<size_t>(Refusal::kEnd)> refused_{};
  std::array<Histogram*, kNumLanes> queue_wait_{};
  Counter* reply_wait_ = nullptr;
  Counter* unread_ = nullptr;
};

}  // namespace halograph::server

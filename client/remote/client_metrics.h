// What a client counts of its calls: attempts by method, server and status, by the names and
// buckets of gRFC A66, and how often a call was sent again, or to another server. Thread-safe; an
// attempt is counted without locks but for the first of its kind and those that end with an error.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/metrics/registry.h"
#include "proto/methods/methods.h"

namespace halograph {

class ClientMetrics {
 public:
  // `metrics` outlives it. Retries of each method and failovers are there, at 0, from here on, and
  // the rest once it was counted: by `servers`, for each method those that it was sent to first (at
  // most kMostFound; the others are one).
  ClientMetrics(MetricRegistry* metrics, std::vector<std::string> servers);

  // An attempt is sent; `server` is its number in `servers`.
  void Began(int server, Method method);
  // Once for each Began, whatever became of it. `took`: until the answer was here, not yet read.
  void Ended(int server, Method method, absl::StatusCode status, std::chrono::nanoseconds took);

  // An attempt at a call that was sent before, to whichever server.
  void SentAgain(Method method) { retries_[static_cast<size_t>(method)]->Add(); }
  // An attempt that is the first at another server than the one that should have answered.
  void FailedOver() { failovers_->Add(); }

 private:
  struct OfMethod {
    FoundCounters* started = nullptr;    // by server
    FoundHistograms* seconds = nullptr;  // by status and server
  };
  // What is counted most. Null: not counted yet.
  struct OfServer {
    std::atomic<Counter*> started{nullptr};
    std::atomic<Histogram*> ok_seconds{nullptr};
  };
  using OfServerByMethod = std::array<OfServer, kNumMethods>;

  [[nodiscard]] OfServer& Of(int server, Method method) {
    return of_servers_[static_cast<size_t>(server)][static_cast<size_t>(method)];
  }

  const std::vector<std::string> servers_;
  std::array<OfMethod, kNumMethods> of_methods_{};
  std::array<Counter*, kNumMethods> retries_{};
  Counter* failovers_ = nullptr;
  std::vector<OfServerByMethod> of_servers_;
};

}  // namespace halograph

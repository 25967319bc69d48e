#include "client/remote/client_metrics.h"

#include <utility>

#include "common/metrics/buckets.h"
#include "common/metrics/found_series.h"

namespace halograph {
namespace {

const MetricInfo kStarted = {"grpc_client_attempt_started_total", MetricUnit::kNone,
                             "Calls that were sent; one that is sent again counts again."};
const MetricInfo kSeconds = {"grpc_client_attempt_duration_seconds", MetricUnit::kSeconds,
                             "From when a call was sent until its answer came or it was given up."};
const MetricInfo kRetries = {"halograph_client_retries_total", MetricUnit::kNone,
                             "Calls that were sent again, to the same server or another."};
const MetricInfo kFailovers = {"halograph_client_failovers_total", MetricUnit::kNone,
                               "Calls that were sent to another server of the part."};

// A server whose calls end in all ways that are common (fine, full, gone, silent, given up).
constexpr size_t kStatusesOfServer = 5;

// What is kept, else what `find` gives, which is the same each time.
template <typename Metric, typename Find>
Metric* Kept(std::atomic<Metric*>* kept, const Find& find) {
  Metric* metric = kept->load(std::memory_order_acquire);
  if (metric == nullptr) {
    metric = find();
    kept->store(metric, std::memory_order_release);
  }
  return metric;
}

}  // namespace

ClientMetrics::ClientMetrics(MetricRegistry* metrics, std::vector<std::string> servers)
    : servers_(std::move(servers)), of_servers_(servers_.size()) {
  for (const MethodRow& row : kMethodRows) {
    const auto m = static_cast<size_t>(row.method);
    const Labels labels{{"grpc_method", std::string(FullNameOf(row.method))}};
    of_methods_[m].started = metrics->AddFoundCounters(kStarted, {"grpc_target"}, labels);
    of_methods_[m].seconds =
        metrics->AddFoundHistograms(kSeconds, LatencyBounds(), {"grpc_status", "grpc_target"},
                                    labels, kMostFound * kStatusesOfServer);
    retries_[m] = metrics->AddCounter(kRetries, labels);
  }
  failovers_ = metrics->AddCounter(kFailovers);
}

void ClientMetrics::Began(int server, Method method) {
  Kept(&Of(server, method).started, [&] {
    return of_methods_[static_cast<size_t>(method)].started->Of(
        servers_[static_cast<size_t>(server)]);
  })->Add();
}

void ClientMetrics::Ended(int server, Method method, absl::StatusCode status,
                          std::chrono::nanoseconds took) {
  const auto find = [&] {
    return of_methods_[static_cast<size_t>(method)].seconds->Of(
        absl::StatusCodeToString(status), servers_[static_cast<size_t>(server)]);
  };
  const bool ok = status == absl::StatusCode::kOk;
  (ok ? Kept(&Of(server, method).ok_seconds, find) : find())->Observe(took);
}

}  // namespace halograph

#include "server/runtime/call_metrics.h"

#include <string>
#include <utility>

#include "common/metrics/buckets.h"
#include "common/metrics/found_series.h"

namespace halograph::server {
namespace {

constexpr char kOk[] = "OK";
constexpr std::array<std::string_view, static_cast<size_t>(Refusal::kEnd)> kReasons = {
    "draining", "request_memory", "queue_full", "reply_memory", "waiting_full", "state"};

const MetricInfo kStarted = {"grpc_server_call_started_total", MetricUnit::kNone,
                             "Calls that began, refused ones too."};
const MetricInfo kSeconds = {"grpc_server_call_duration_seconds", MetricUnit::kSeconds,
                             "From a call's arrival until its reply was sent or given up."};
const MetricInfo kSent = {"grpc_server_call_sent_total_compressed_message_size_bytes",
                          MetricUnit::kBytes, "Size of the reply of a call."};
const MetricInfo kReceived = {"grpc_server_call_rcvd_total_compressed_message_size_bytes",
                              MetricUnit::kBytes, "Size of the request of a call."};
const MetricInfo kSending = {"halograph_server_sending_seconds_total", MetricUnit::kSeconds,
                             "From the answer of a call that was OK until its reply was sent."};
const MetricInfo kRefused = {"halograph_server_refused_total", MetricUnit::kNone,
                             "Calls that got UNAVAILABLE, by the reason."};
const MetricInfo kQueueWait = {"halograph_server_queue_wait_seconds", MetricUnit::kSeconds,
                               "How long calls waited for a thread of their pool."};
const MetricInfo kReplyWait = {"halograph_server_reply_wait_seconds_total", MetricUnit::kSeconds,
                               "How long calls waited for memory of replies."};

}  // namespace

CallMetrics::CallMetrics(MetricRegistry* metrics) {
  for (const MethodRow& row : kMethodRows) {
    const Labels labels{{"grpc_method", std::string(FullNameOf(row.method))}};
    OfMethod& of = Of(row.method);
    of.started = metrics->AddCounter(kStarted, labels);
    of.sending = metrics->AddCounter(kSending, labels);
    of.seconds = metrics->AddFoundHistograms(kSeconds, LatencyBounds(), {"grpc_status"}, labels);
    of.sent = metrics->AddFoundHistograms(kSent, SizeBounds(), {"grpc_status"}, labels);
    of.received = metrics->AddFoundHistograms(kReceived, SizeBounds(), {"grpc_status"}, labels);
    of.ok_seconds = of.seconds->Of(kOk);
    of.ok_sent = of.sent->Of(kOk);
    of.ok_received = of.received->Of(kOk);
  }
  for (size_t reason = 0; reason < kReasons.size(); ++reason) {
    refused_[reason] =
        metrics->AddCounter(kRefused, Labels{{"reason", std::string(kReasons[reason])}});
  }
  for (size_t lane = 0; lane < kNumLanes; ++lane) {
    const auto name = std::string(LaneName(static_cast<Lane>(lane)));
    queue_wait_[lane] = metrics->AddHistogram(kQueueWait, LatencyBounds(), Labels{{"pool", name}});
  }
  reply_wait_ = metrics->AddCounter(kReplyWait);
}

void CallMetrics::End(Method method, std::string_view status, int64_t request_bytes,
                      int64_t reply_bytes, std::chrono::nanoseconds latency) {
  OfMethod& of = Of(method);
  const bool ok = status == kOk;
  (ok ? of.ok_seconds : of.seconds->Of(status))->Observe(latency);
  (ok ? of.ok_sent : of.sent->Of(status))->Observe(reply_bytes);
  (ok ? of.ok_received : of.received->Of(status))->Observe(request_bytes);
}

}  // namespace halograph::server

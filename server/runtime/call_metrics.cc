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
const MetricInfo kInFlight = {"halograph_server_calls_in_flight", MetricUnit::kNone,
                              "Calls that have not ended."};
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
const MetricInfo kUnread = {"halograph_server_unread_replies_total", MetricUnit::kNone,
                            "Replies given up that their clients did not read."};
const MetricInfo kReplyWait = {"halograph_server_reply_wait_seconds_total", MetricUnit::kSeconds,
                               "How long calls waited for memory of replies."};

// Of all statuses together.
int64_t BytesOf(const FoundHistograms& sizes) {
  double sum = 0;
  for (const Histogram* of_status : sizes.Made()) sum += of_status->Take().sum;
  return static_cast<int64_t>(sum);
}

}  // namespace

MethodSnapshot MethodSnapshot::Since(const MethodSnapshot& earlier) const {
  return {.seconds = seconds.Since(earlier.seconds),
          .errors = errors - earlier.errors,
          .in_flight = in_flight,
          .request_bytes = request_bytes - earlier.request_bytes,
          .reply_bytes = reply_bytes - earlier.reply_bytes};
}

CallMetrics::CallMetrics(MetricRegistry* metrics) {
  for (const MethodRow& row : kMethodRows) {
    const Labels labels{{"grpc_method", std::string(FullNameOf(row.method))}};
    OfMethod& of = Of(row.method);
    of.started = metrics->AddCounter(kStarted, labels);
    of.in_flight = metrics->AddGauge(kInFlight, labels);
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
  unread_ = metrics->AddCounter(kUnread);
}

void CallMetrics::End(Method method, std::string_view status, int64_t request_bytes,
                      int64_t reply_bytes, std::chrono::nanoseconds latency) {
  OfMethod& of = Of(method);
  const bool ok = status == kOk;
  (ok ? of.ok_sent : of.sent->Of(status))->Observe(reply_bytes);
  (ok ? of.ok_received : of.received->Of(status))->Observe(request_bytes);
  (ok ? of.ok_seconds : of.seconds->Of(status))->Observe(latency);
  of.in_flight->Add(-1);  // last: see Take
}

MethodSnapshot CallMetrics::Take(Method method) const {
  const OfMethod& of = Of(method);
  MethodSnapshot snapshot;
  snapshot.in_flight = static_cast<int64_t>(of.in_flight->Value());  // first: see End
  for (const Histogram* of_status : of.seconds->Made()) {
    const HistogramSnapshot taken = of_status->Take();
    snapshot.seconds.Merge(taken);
    snapshot.errors += of_status == of.ok_seconds ? 0 : taken.count;
  }
  snapshot.request_bytes = BytesOf(*of.received);
  snapshot.reply_bytes = BytesOf(*of.sent);
  return snapshot;
}

}  // namespace halograph::server

// What the calls to each server spend their time with.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/ctl/why/draw.h"

namespace halograph::ctl {
namespace {

constexpr std::string_view kPackage = "halograph.v1.";
// The calls that make minibatches.
constexpr std::array<std::string_view, 4> kMethods = {
    "GraphService/Sample", "GraphService/ColumnSums", "GraphService/Extract", "KVService/Pull"};
constexpr double kLeastQuantile = 0.1;
// Fewer calls have no quantile to speak of, and say little of a rank.
constexpr int64_t kFewCalls = 5;

constexpr char kDurations[] = "grpc_server_call_duration_seconds";

// The calls of a method to a target, by the rank that has them fastest: what is slow for one rank
// alone is that rank's.
struct Attempts {
  double calls = 0;
  double seconds = 0;
  std::optional<HistogramValues> fastest = {};
};

Attempts AttemptsOf(const std::vector<RankPicture>& ranks, const std::string& method,
                    const std::string& target) {
  Attempts attempts;
  for (const RankPicture& rank : ranks) {
    const auto calls = rank.evidence->metrics.Histogram(
        kAttempts, {{"grpc_method", method}, {"grpc_target", target}, {"grpc_status", "OK"}});
    if (!calls || calls->count == 0) continue;
    attempts.calls += static_cast<double>(calls->count);
    attempts.seconds += calls->sum;
    const bool first = !attempts.fastest || attempts.fastest->count < kFewCalls;
    if (first || (calls->count >= kFewCalls && calls->Mean() < attempts.fastest->Mean())) {
      attempts.fastest = calls;
    }
  }
  return attempts;
}

struct Answers {
  HistogramValues calls;
  double sending = 0;  // seconds of all
};

std::optional<Answers> AnswersOf(const MetricChange& metrics, const std::string& method) {
  const auto calls =
      metrics.Histogram(kDurations, {{"grpc_method", method}, {"grpc_status", "OK"}});
  if (!calls || calls->count == 0) return {};
  return Answers{
      *calls, metrics.Counter("halograph_server_sending_seconds_total", {{"grpc_method", method}})
                  .value_or(0)};
}

double BytesOf(const MetricChange& metrics, const std::string& method) {
  double bytes = 0;
  for (const char* const name : {"grpc_server_call_sent_total_compressed_message_size_bytes",
                                 "grpc_server_call_rcvd_total_compressed_message_size_bytes"}) {
    const auto sizes = metrics.Histogram(name, {{"grpc_method", method}, {"grpc_status", "OK"}});
    if (sizes) bytes += sizes->Mean();
  }
  return bytes;
}

void DrawMethods(const std::vector<RankPicture>& ranks, const std::string& target,
                 ServerPicture* server) {
  double answered = 0;
  double sum_seconds = 0;
  double way_calls = 0;
  const double seconds = server->evidence != nullptr ? server->evidence->seconds
                         : !ranks.empty()            ? ranks[0].evidence->seconds
                                                     : 0;
  double least_way = -1;
  double outstanding = 0;
  for (const std::string_view short_name : kMethods) {
    const std::string full = std::string(kPackage) + std::string(short_name);
    MethodPicture method{.method = std::string(short_name)};
    const Attempts attempts = AttemptsOf(ranks, full, target);
    outstanding += attempts.seconds;
    std::optional<Answers> answers;
    if (server->evidence != nullptr) {
      answers = AnswersOf(server->evidence->metrics, full);
      method.bytes = BytesOf(server->evidence->metrics, full);
    }
    method.calls = attempts.calls > 0 ? attempts.calls
                   : answers          ? static_cast<double>(answers->calls.count)
                                      : 0;
    if (method.calls == 0) continue;
    if (attempts.fastest) {
      method.trainers_seconds = attempts.fastest->Mean();
      if (attempts.fastest->count >= kFewCalls) {
        method.least_seconds = attempts.fastest->Quantile(kLeastQuantile);
      }
    }
    if (answers) {
      const auto count = static_cast<double>(answers->calls.count);
      method.answering_seconds = std::max(0.0, answers->calls.Mean() - answers->sending / count);
      method.least_answering_seconds = answers->calls.Quantile(kLeastQuantile);
      server->answering += *method.answering_seconds * method.calls;
      answered += method.calls;
      server->working += *method.answering_seconds * count / std::max(seconds, 1e-9);
    }
    sum_seconds +=
        method.calls * method.trainers_seconds.value_or(method.answering_seconds.value_or(0));
    if (method.trainers_seconds && method.answering_seconds) {
      const double way = std::max(0.0, *method.trainers_seconds - *method.answering_seconds);
      server->way += way * method.calls;
      way_calls += method.calls;
      if (method.least_seconds) {
        const double least = std::clamp(
            *method.least_seconds - method.least_answering_seconds.value_or(0), 0.0, way);
        least_way = least_way < 0 ? least : std::min(least_way, least);
      }
    }
    server->calls += method.calls;
    server->methods.push_back(std::move(method));
  }
  server->seen_by_trainers = outstanding > 0;
  server->outstanding = seconds > 0 ? outstanding / seconds : 0;
  if (server->calls > 0) server->call_seconds = sum_seconds / server->calls;
  if (answered > 0) server->answering /= answered;
  server->way_known = way_calls > 0;
  if (way_calls > 0) server->way /= way_calls;
  server->way_least = std::max(0.0, least_way);
}

// Messages so large take long on a slow way, whatever its delay.
constexpr double kLargeBytes = 256 << 10;
// A server that sends less than this can hardly have filled its way.
constexpr double kFillsAWay = 1e6;

// The delay that calls have in any case: no more than an empty call from here had, if trainers'
// calls are too large to tell, or there are so many bytes that the way may be full of them.
void BoundLeast(ServerPicture* server) {
  const std::optional<double>& round_trip = server->evidence->round_trip_seconds;
  if (!round_trip) return;
  const bool all_large =
      std::all_of(server->methods.begin(), server->methods.end(),
                  [](const MethodPicture& method) { return method.bytes >= kLargeBytes; });
  if (all_large || server->bytes_per_second >= kFillsAWay) {
    server->way_least = std::min(server->way_least, *round_trip);
  }
}

void DrawOwn(ServerPicture* server) {
  const ServerEvidence& evidence = *server->evidence;
  const MetricChange& metrics = evidence.metrics;
  const double seconds = std::max(evidence.seconds, 1e-9);
  if (const auto waits =
          metrics.Histogram("halograph_server_queue_wait_seconds", {{"pool", "work"}})) {
    server->queue = std::min(waits->Mean(), server->answering);
  }
  if (const auto waited = metrics.Counter("halograph_server_reply_wait_seconds_total")) {
    const auto all = metrics.Histogram(kDurations);
    const double calls = std::max(server->calls, all ? static_cast<double>(all->count) : 0);
    server->memory = calls > 0 ? *waited / calls : 0;
  }
  server->work = std::max(0.0, server->answering - server->queue - server->memory);
  if (server->answering > 0) {
    server->queueing = server->working * server->queue / server->answering;
    server->working *= server->work / server->answering;
  }
  if (const auto sent =
          metrics.Histogram("grpc_server_call_sent_total_compressed_message_size_bytes")) {
    server->bytes_per_second = sent->sum / seconds;
  }
  if (const auto cpu = metrics.Counter("process_cpu_seconds_total")) {
    server->processors = *cpu / seconds;
  }
  if (const auto waited = metrics.Counter("process_processor_wait_seconds_total")) {
    server->waited_for_processors = *waited / seconds;
  }
  server->waiting_calls = metrics.Gauge("halograph_server_waiting_calls");
  server->threads = metrics.Gauge("halograph_server_threads", {{"pool", "work"}});
  if (server->threads && *server->threads <= 0) server->threads.reset();
  BoundLeast(server);
}

}  // namespace

void DrawServer(const std::vector<RankPicture>& ranks, const std::string& target,
                ServerPicture* server) {
  DrawMethods(ranks, target, server);
  if (server->evidence != nullptr) DrawOwn(server);
}

}  // namespace halograph::ctl

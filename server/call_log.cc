#include "server/call_log.h"

#include <iterator>
#include <utility>

#include <grpcpp/server_context.h>

#include "common/base/call_metadata.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/base/trace_context.h"
#include "common/base/units.h"
#include "common/base/wall_clock.h"

namespace halograph::server {
namespace {

constexpr char kOk[] = "OK";

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string Metadata(const grpc::CallbackServerContext& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return "-";
  return Printable({found->second.data(), found->second.size()}, kNameShown);
}

// As W3C's specification has it, what is no traceparent is ignored, and so are several.
std::string TraceText(const grpc::CallbackServerContext& context) {
  const auto [first, end] = context.client_metadata().equal_range(kTraceparentKey);
  if (first != end && std::next(first) == end) {
    const auto trace = ParseTraceparent({first->second.data(), first->second.size()});
    if (trace.has_value()) return halograph::ToString(trace->trace);
  }
  return Metadata(context, kTraceIdKey);
}

// Which call, for every line about one.
std::string Name(const grpc::CallbackServerContext& context, const LoggedCall& call) {
  return fmt::format("{} request {} rank {} trace {} from {}{}{}{}{}", MethodName(call.method),
                     Metadata(context, kRequestIdKey), call.rank, TraceText(context),
                     Printable(call.peer, kNameShown), call.principal.empty() ? "" : " as ",
                     call.principal, call.identity.empty() ? "" : " for ",
                     Printable(call.identity, kNameShown));
}

}  // namespace

LoggedCall CallLog::Begin(const grpc::CallbackServerContext& context, Method method) {
  const std::string peer = context.peer();
  LoggedCall call{method, peer, HostOfPeer(peer), Metadata(context, kRankKey)};
  if (method != Method::kStats && clients_.Begin(call.host, call.rank, Clock::now())) {
    spdlog::info("client {} rank {}: first call", Printable(call.host, kNameShown), call.rank);
  }
  return call;
}

void CallLog::Answered(const grpc::CallbackServerContext& context, const LoggedCall& call,
                       const Status& status, int64_t request_bytes, int64_t reply_bytes,
                       std::chrono::nanoseconds latency) {
  const bool repeated = absl::IsUnavailable(status) || absl::IsCancelled(status);
  const auto level = status.ok() ? spdlog::level::debug
                     : repeated  ? spdlog::level::info
                                 : spdlog::level::warn;
  if (!spdlog::should_log(level)) return;
  int64_t left_out = 0;
  if (!status.ok() && !(repeated ? refused_ : errors_).Allow(&left_out)) return;
  if (left_out > 0) {
    spdlog::log(level, "{} {} of calls were not logged", left_out,
                repeated ? "refusals" : "errors");
  }
  spdlog::log(level, "{}: {}, {} bytes in, {} out, {:.6f} s", Name(context, call),
              status.ok() ? "OK" : Printable(halograph::ToString(status), kMessageShown),
              request_bytes, reply_bytes, Seconds(latency));
}

void CallLog::End(const grpc::CallbackServerContext& context, const LoggedCall& call,
                  std::string_view status, int64_t request_bytes, int64_t reply_bytes,
                  std::chrono::nanoseconds answering, std::chrono::nanoseconds sending) {
  if (call.method != Method::kStats) {
    clients_.End(call.host, call.rank, status == kOk, reply_bytes, Clock::now());
  }
  if (answering + sending < kSlow) return;
  slow_calls_.Add({.unix_seconds = SecondsSince1970(),
                   .method = std::string(MethodName(call.method)),
                   .host = Printable(call.host, kNameShown),
                   .rank = call.rank,
                   .request_id = Metadata(context, kRequestIdKey),
                   .trace_id = TraceText(context),
                   .principal = call.principal,
                   .status = std::string(status),
                   .answering = answering,
                   .sending = sending,
                   .request_bytes = request_bytes,
                   .reply_bytes = reply_bytes});
  int64_t left_out = 0;
  if (!slow_.Allow(&left_out)) return;
  if (left_out > 0) spdlog::warn("{} slow calls were not logged", left_out);
  spdlog::warn("slow: {}: {} to answer, {} until its reply of {} was sent or given up",
               Name(context, call), FormatSeconds(Seconds(answering)),
               FormatSeconds(Seconds(sending)), FormatBytes(reply_bytes));
}

void CallLog::LogLeft(Clock::time_point now) {
  for (const ClientTable::Client& client : clients_.TakeLeft(now)) {
    spdlog::info("client {} rank {}: last call; {} calls, {} errors, {} sent within {}",
                 Printable(client.host, kNameShown), client.rank, FormatCount(client.calls),
                 FormatCount(client.errors), FormatBytes(client.sent_bytes),
                 FormatSeconds(Seconds(client.last - client.first)));
  }
}

}  // namespace halograph::server

#include "server/call_log.h"

#include <string>
#include <utility>

#include <grpcpp/server_context.h>

#include "common/base/call_metadata.h"
#include "common/base/log.h"
#include "server/rpc_status.h"

namespace halograph::server {
namespace {

constexpr size_t kMetadataShown = 64;
constexpr size_t kMessageShown = 1024;
constexpr int kErrorLinesPerSecond = 20;

std::string Metadata(const grpc::CallbackServerContext& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return "-";
  return Printable({found->second.data(), found->second.size()}, kMetadataShown);
}

}  // namespace

bool LineLimit::Allow(int64_t* left_out) {
  const auto now = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    lines_ = 0;
  }
  if (++lines_ > kErrorLinesPerSecond) {
    ++left_out_;
    return false;
  }
  *left_out = std::exchange(left_out_, 0);
  return true;
}

void CallLog::Write(const grpc::CallbackServerContext& context, Method method, const Status& status,
                    int64_t request_bytes, int64_t reply_bytes, std::chrono::nanoseconds latency) {
  const bool error = !status.ok() && !absl::IsUnavailable(status) && !absl::IsCancelled(status);
  const auto level = error ? spdlog::level::warn : spdlog::level::debug;
  if (!spdlog::should_log(level)) return;
  int64_t left_out = 0;
  if (error && !limit_.Allow(&left_out)) return;
  if (left_out > 0) spdlog::warn("{} errors of calls were not logged", left_out);
  spdlog::log(level, "{} request {} rank {} trace {} from {}: {}, {} bytes in, {} out, {:.6f} s",
              MethodName(method), Metadata(context, kRequestIdKey), Metadata(context, kRankKey),
              Metadata(context, kTraceIdKey), Printable(context.peer(), kMetadataShown),
              status.ok() ? "OK" : Printable(halograph::ToString(status), kMessageShown),
              request_bytes, reply_bytes, std::chrono::duration<double>(latency).count());
}

}  // namespace halograph::server

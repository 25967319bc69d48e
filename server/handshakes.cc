#include "server/handshakes.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/tls/tls_set.h"

namespace halograph::server {
namespace {

constexpr std::string_view kNotVerified = "Certificate verify failed with code ";

std::atomic<int64_t> failed_handshakes = 0;
// Of the certificate that this thread found wrong: the line on the whole handshake comes next.
thread_local int verify_code = 0;

std::string WhatWasWrong(std::string_view line, int code) {
  if (code != 0) return fmt::format("the client's certificate: {}", WhyNotVerified(code));
  return fmt::format("the client shows no certificate, or speaks no TLS: {}",
                     Printable(line, kMessageShown));
}

}  // namespace

bool NoteHandshake(std::string_view line) {
  if (line.starts_with(kNotVerified)) {
    verify_code = 0;
    std::from_chars(line.data() + kNotVerified.size(), line.data() + line.size(), verify_code);
    return true;
  }
  if (!line.starts_with("Handshake failed")) return false;
  const int code = std::exchange(verify_code, 0);
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::rep> next = 0;
  static std::atomic<int64_t> told = 0;
  const int64_t failed = ++failed_handshakes;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep due = next;
  constexpr Clock::rep kPause = Clock::duration(std::chrono::seconds(1)).count();
  if (now < due || !next.compare_exchange_strong(due, now + kPause)) return true;
  spdlog::warn("TLS: {} handshakes failed since this was last said; the last one: {}",
               failed - told.exchange(failed), WhatWasWrong(line, code));
  return true;
}

MetricReader AddHandshakeMetric(MetricRegistry* metrics) {
  return metrics->ReadCounter({"halograph_tls_handshakes_failed_total", MetricUnit::kNone,
                               "Handshakes of TLS with clients that failed."},
                              {}, [] { return static_cast<double>(failed_handshakes.load()); });
}

}  // namespace halograph::server

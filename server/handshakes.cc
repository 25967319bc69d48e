#include "server/handshakes.h"

#include <atomic>
#include <chrono>

#include "common/base/log.h"
#include "common/base/printable.h"

namespace halograph::server {
namespace {

std::atomic<int64_t> failed_handshakes = 0;

}  // namespace

bool NoteHandshake(std::string_view line) {
  // Comes before the other line, and says less.
  if (line.starts_with("Certificate verify failed")) return true;
  if (!line.starts_with("Handshake failed")) return false;
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::rep> next = 0;
  static std::atomic<int64_t> told = 0;
  const int64_t failed = ++failed_handshakes;
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep due = next;
  constexpr Clock::rep kPause = Clock::duration(std::chrono::seconds(1)).count();
  if (now < due || !next.compare_exchange_strong(due, now + kPause)) return true;
  spdlog::warn(
      "TLS: {} handshakes failed since this was last said: clients without a certificate, or with "
      "one that is foreign, expired or revoked, or without TLS ({})",
      failed - told.exchange(failed), Printable(line, kMessageShown));
  return true;
}

MetricReader AddHandshakeMetric(MetricRegistry* metrics) {
  return metrics->ReadCounter({"halograph_tls_handshakes_failed_total", MetricUnit::kNone,
                               "Handshakes of TLS with clients that failed."},
                              {}, [] { return static_cast<double>(failed_handshakes.load()); });
}

}  // namespace halograph::server

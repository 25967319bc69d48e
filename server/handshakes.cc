#include "server/handshakes.h"

#include <atomic>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "common/base/line_limit.h"
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
  if (code != 0) return fmt::format("a certificate that was shown: {}", WhyNotVerified(code));
  return Printable(line, kMessageShown);
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
  ++failed_handshakes;
  static LineLimit lines(1);
  int64_t left_out = 0;
  if (lines.Allow(&left_out)) {
    spdlog::warn("TLS: {} handshakes failed since this was last said; the last one: {}",
                 left_out + 1, WhatWasWrong(line, code));
  }
  return true;
}

MetricReader AddHandshakeMetric(MetricRegistry* metrics) {
  return metrics->ReadCounter({"halograph_tls_handshakes_failed_total", MetricUnit::kNone,
                               "Handshakes of TLS that failed, with clients or with --peers."},
                              {}, [] { return static_cast<double>(failed_handshakes.load()); });
}

}  // namespace halograph::server

// Handshakes of TLS that failed: gRPC tells nobody but its log.
#pragma once

#include <string_view>

#include "common/metrics/reader.h"
#include "common/metrics/registry.h"

namespace halograph::server {

// Whether a line of gRPC's log is about such a handshake. It is counted then, and logged at most
// once a second, with how many there were since. Thread-safe.
bool NoteHandshake(std::string_view line);

// halograph_tls_handshakes_failed_total: of this process.
[[nodiscard]] MetricReader AddHandshakeMetric(MetricRegistry* metrics);

}  // namespace halograph::server

// The trace that a call belongs to, as it travels: the `traceparent` of W3C's Trace Context
// (https://www.w3.org/TR/trace-context/), version 00. Values and pure functions; thread-safe.
//
//   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//   version, trace id, parent id (of the call, as its caller names it), flags (01: it is recorded)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace halograph {

// Joins all that is done for one purpose, on whatever machines. All zeros: none.
struct TraceId {
  uint64_t high = 0;
  uint64_t low = 0;

  [[nodiscard]] bool empty() const { return high == 0 && low == 0; }
  friend bool operator==(const TraceId&, const TraceId&) = default;
};

struct TraceContext {
  TraceId trace;
  uint64_t span = 0;  // one thing that is done in the trace: a call; 0: none

  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// 32 hex digits, also of an empty one.
[[nodiscard]] std::string ToString(const TraceId& trace);
// 16 hex digits.
[[nodiscard]] std::string SpanText(uint64_t span);

// Requires a trace and a span.
[[nodiscard]] std::string ToTraceparent(const TraceContext& context);

// What a `traceparent` says, read as the specification has it: lower-case hex, no blanks, neither
// id of zeros alone, version not ff; after a version above 00 there may be more, behind a dash.
// Nothing if it is not so: it is to be ignored then.
[[nodiscard]] std::optional<TraceContext> ParseTraceparent(std::string_view text);

}  // namespace halograph

#include "common/base/trace_context.h"

#include <cstddef>

#include <fmt/core.h>

namespace halograph {
namespace {

// Of version 00: where its dashes stand, and its end.
constexpr size_t kVersionEnd = 2;
constexpr size_t kTraceEnd = 35;
constexpr size_t kSpanEnd = 52;
constexpr size_t kLength = 55;

// Of at most 16 lower-case hex digits; nothing if one is none.
std::optional<uint64_t> ReadHex(std::string_view digits) {
  uint64_t value = 0;
  for (const char digit : digits) {
    uint64_t number = 0;
    if (digit >= '0' && digit <= '9') {
      number = static_cast<uint64_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      number = static_cast<uint64_t>(digit - 'a') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4U | number;
  }
  return value;
}

}  // namespace

std::string ToString(const TraceId& trace) {
  return fmt::format("{:016x}{:016x}", trace.high, trace.low);
}

std::string SpanText(uint64_t span) { return fmt::format("{:016x}", span); }

std::string ToTraceparent(const TraceContext& context) {
  return fmt::format("00-{:016x}{:016x}-{:016x}-01", context.trace.high, context.trace.low,
                     context.span);
}

std::optional<TraceContext> ParseTraceparent(std::string_view text) {
  if (text.size() < kLength || text[kVersionEnd] != '-' || text[kTraceEnd] != '-' ||
      text[kSpanEnd] != '-') {
    return std::nullopt;
  }
  const auto version = ReadHex(text.substr(0, kVersionEnd));
  const auto high = ReadHex(text.substr(kVersionEnd + 1, 16));
  const auto low = ReadHex(text.substr(kVersionEnd + 17, 16));
  const auto span = ReadHex(text.substr(kTraceEnd + 1, 16));
  const auto flags = ReadHex(text.substr(kSpanEnd + 1, 2));
  if (!version || !high || !low || !span || !flags || *version == 0xff) return std::nullopt;
  if (text.size() > kLength && (*version == 0 || text[kLength] != '-')) return std::nullopt;
  const TraceContext context{.trace = {.high = *high, .low = *low}, .span = *span};
  if (context.trace.empty() || context.span == 0) return std::nullopt;
  return context;
}

}  // namespace halograph

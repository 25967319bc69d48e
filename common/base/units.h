// Sizes and durations as people write and read them. Pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

// "512", "64KiB", "8GiB", "10MB" (decimal), case-insensitive -> bytes. InvalidArgument with the
// text for anything else, negatives, and what does not fit 63 bits.
[[nodiscard]] StatusOr<int64_t> ParseBytes(std::string_view text);

// "30", "30s", "500ms", "2m", "1h" (a bare number is seconds; fractions allowed).
[[nodiscard]] StatusOr<std::chrono::nanoseconds> ParseDuration(std::string_view text);

[[nodiscard]] std::string FormatBytes(int64_t bytes);     // "1.5 GiB"
[[nodiscard]] std::string FormatCount(int64_t count);     // "1,234,567"
[[nodiscard]] std::string FormatSeconds(double seconds);  // "1.2 s", "3 min 05 s"

}  // namespace halograph

// Logging for all programs: spdlog to stderr, one line a record, "2026-01-31T12:00:00.123Z LEVEL
// program: message"; what a terminal would obey is escaped (printable.h). Thread-safe.
#pragma once

#include <string_view>

#include <spdlog/spdlog.h>

#include "common/base/status.h"

namespace halograph {

// Call once, first thing in main. `level`: trace, debug, info, warning, error, off.
// InvalidArgument for another word.
[[nodiscard]] Status InitLog(std::string_view program, std::string_view level = "info");

}  // namespace halograph

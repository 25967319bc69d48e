# Precompiled headers that libraries share (halograph_library): parsing them was a fifth of the time
# of compiling a source. Sources still include all that they use.
include_guard()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers.cc CONTENT "// Carries precompiled headers.\n")
add_library(halograph_headers STATIC ${CMAKE_BINARY_DIR}/headers.cc)
target_link_libraries(halograph_headers PUBLIC halograph_flags absl::status absl::statusor
                      absl::strings fmt::fmt spdlog::spdlog)
target_precompile_headers(halograph_headers PRIVATE
  <algorithm> <cstdint> <filesystem> <functional> <memory> <span> <string> <string_view> <utility>
  <vector> <fmt/format.h> <absl/status/statusor.h> <nlohmann/json.hpp> <spdlog/spdlog.h>)

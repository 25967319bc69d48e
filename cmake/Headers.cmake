# Precompiled headers that libraries share (halograph_library), and those that tests share
# (halograph_test): parsing them was a fifth of the time of compiling a library's source, and half of
# a test's. Sources still include all that they use.
include_guard()

set(common_headers
  <algorithm> <cstdint> <filesystem> <functional> <memory> <span> <string> <string_view> <utility>
  <vector> <fmt/format.h> <absl/status/statusor.h> <nlohmann/json.hpp> <spdlog/spdlog.h>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers.cc CONTENT "// Carries precompiled headers.\n")

add_library(halograph_headers STATIC ${CMAKE_BINARY_DIR}/headers.cc)
target_link_libraries(halograph_headers PUBLIC halograph_flags absl::status absl::statusor
                      absl::strings fmt::fmt spdlog::spdlog)
target_precompile_headers(halograph_headers PRIVATE ${common_headers})

if(HALOGRAPH_TESTS)
  add_library(halograph_test_headers STATIC ${CMAKE_BINARY_DIR}/headers.cc)
  target_link_libraries(halograph_test_headers PUBLIC halograph_headers halograph_test_flags
                        GTest::gmock GTest::gtest)
  target_precompile_headers(halograph_test_headers PRIVATE ${common_headers} <gmock/gmock.h>)
endif()

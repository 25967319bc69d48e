# Precompiled headers that libraries and tests share (halograph_library, halograph_test): parsing
# them was a fifth of the time of compiling a source. Sources still include all that they use.
include_guard()

function(halograph_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Carries precompiled headers.\n")
  add_library(${name} STATIC ${source})
  target_link_libraries(${name} PUBLIC halograph_flags absl::status absl::statusor absl::strings
                        fmt::fmt spdlog::spdlog ${ARG_DEPS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

set(common_headers <algorithm> <cstdint> <filesystem> <functional> <memory> <span> <string>
    <string_view> <utility> <vector> <fmt/format.h> <absl/status/statusor.h> <nlohmann/json.hpp>)
halograph_headers(halograph_headers HEADERS ${common_headers} <spdlog/spdlog.h>)
if(HALOGRAPH_TESTS)
  halograph_headers(halograph_test_headers HEADERS ${common_headers} <gmock/gmock.h>
                    DEPS GTest::gmock)
endif()

# How every target of the project is made: one function a kind, one target a folder.
#   halograph_library(common_graph SOURCES a.cc b.cc DEPS halograph::common_base)
#     makes the static library `halograph_common_graph`, named by others halograph::common_graph.
#   halograph_program(halograph-server SOURCES main.cc DEPS ...)  -> build/<preset>/bin
#   halograph_test_library(test_support SOURCES ...)  what several tests share
#   halograph_test(NAME SOURCES x_test.cc DEPS ... [LABELS unit] [COST 600] [LONG] [SYNCS])
#     makes one GoogleTest program.
#     Those of higher COST begin first, so that none that takes long is left running alone.
#     With LONG, its suites ...LongTest are a test of their own, NAME_long, labelled long.
#     With SYNCS it writes through to the disk, as no other does (tests/support/no_sync.h).
# The sources of a target are compiled together. Those with hot loops are named after ALONE, and are
# not: what GCC inlines into what hangs on the sources that it sees at once. ALONE without names means
# all. Libraries and programs share precompiled headers of what almost every source includes, and tests
# theirs. A target of which most sources include libtorch says TORCH, one with such headers of its own
# OWN_HEADERS.
include_guard()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(HALOGRAPH_CCACHE ccache)
if(HALOGRAPH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers hide from ccache unless it is told that time stamps do not matter. Clones in
  # different folders share what they compile.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${HALOGRAPH_CCACHE})
endif()

add_library(halograph_flags INTERFACE)
target_include_directories(halograph_flags INTERFACE ${CMAKE_SOURCE_DIR})
# -Werror=unused-result with [[nodiscard]]: an ignored status does not compile.
target_compile_options(halograph_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow)
if(HALOGRAPH_WERROR)  # other compilers have other warnings
  target_compile_options(halograph_flags INTERFACE -Werror -Wno-error=deprecated-declarations)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC takes anonymous namespaces of sources that are compiled together for those of headers. It
  # collects garbage for a tenth of its time unless it may keep a gigabyte.
  target_compile_options(halograph_flags INTERFACE
    -Wno-subobject-linkage --param=ggc-min-heapsize=1000000)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(halograph_flags INTERFACE -Wthread-safety)  # common/base/mutex.h
endif()
if(HALOGRAPH_SANITIZE)
  target_compile_options(halograph_flags INTERFACE
    -fsanitize=${HALOGRAPH_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(halograph_flags INTERFACE -fsanitize=${HALOGRAPH_SANITIZE})
  if(HALOGRAPH_SANITIZE MATCHES "undefined")
    # Two of its checks see what AddressSanitizer sees too, and take a tenth of all compiling.
    target_compile_options(halograph_flags INTERFACE -fno-sanitize-recover=undefined
                           -fno-sanitize=null,object-size)
  endif()
endif()

# The sources of tests are not optimised: that took half of the time of all compiling, for code that
# runs once. They are sanitized as all else, since the linker may take an inline function of theirs
# for one of a library. (With optimisation GCC 12 also takes warnings of inlined library code, which
# it gets wrong for concatenated strings, for warnings of ours as soon as headers are precompiled.)
add_library(halograph_test_flags INTERFACE)
target_compile_options(halograph_test_flags INTERFACE -O0)

# Most of the time of a source goes into headers and what it takes of their templates: alone, the
# sources of a target take two to three times as long as together.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 20)
set(kinds TORCH OWN_HEADERS)
set(lists SOURCES ALONE DEPS LABELS ENVIRONMENT)

# `headers` and `torch_headers`: the targets whose precompiled headers it takes.
function(halograph_compile name headers torch_headers)
  cmake_parse_arguments(ARG "${kinds}" "" "${lists}" ${ARGN})
  if(NOT "ALONE" IN_LIST ARG_KEYWORDS_MISSING_VALUES)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
  endif()
  if(NOT CMAKE_UNITY_BUILD)  # which presets that measure nothing set, to compile all together
    set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(ARG_TORCH)  # its headers take most of the time of a source that includes them
    target_precompile_headers(${name} REUSE_FROM ${torch_headers})
  elseif(NOT ARG_OWN_HEADERS)
    target_precompile_headers(${name} REUSE_FROM ${headers})
  endif()
endfunction()

# As halograph_compile; what is no library's is not optimised, and has the headers of tests.
function(halograph_compile_test name)
  halograph_compile(${name} halograph_test_headers halograph_test_torch_headers ${ARGN})
  cmake_parse_arguments(ARG "${kinds}" "" "${lists}" ${ARGN})
  if(NOT ARG_OWN_HEADERS)
    target_link_libraries(${name} PRIVATE halograph_test_flags GTest::gmock)
  endif()
endfunction()

function(halograph_add_library name)
  cmake_parse_arguments(ARG "${kinds}" "" "${lists}" ${ARGN})
  add_library(halograph_${name} STATIC ${ARG_SOURCES})
  add_library(halograph::${name} ALIAS halograph_${name})
  target_link_libraries(halograph_${name} PUBLIC halograph_flags ${ARG_DEPS})
endfunction()

function(halograph_library name)
  halograph_add_library(${name} ${ARGN})
  halograph_compile(halograph_${name} halograph_headers halograph_trainer_torch ${ARGN})
endfunction()

function(halograph_test_library name)
  halograph_add_library(${name} ${ARGN})
  halograph_compile_test(halograph_${name} ${ARGN})
endfunction()

function(halograph_program name)
  cmake_parse_arguments(ARG "${kinds}" "" "${lists}" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE halograph_flags ${ARG_DEPS})
  halograph_compile(${name} halograph_headers halograph_trainer_torch ${ARGN})
endfunction()

# How many times as long as in a release a test may take, and how many seconds it may. That is more than
# a wait within a test (PATIENCE in tests/e2e/harness/programs.py): the test should say what it waited for.
set(HALOGRAPH_TIME_SCALE 1)
if(HALOGRAPH_SANITIZE)
  set(HALOGRAPH_TIME_SCALE 4)
endif()
math(EXPR HALOGRAPH_TEST_TIMEOUT "900 * ${HALOGRAPH_TIME_SCALE}")

# A test that only `ctest -C long` knows, and so tests/run.sh --long.
function(halograph_long_test name timeout)
  add_test(NAME ${name} CONFIGURATIONS long ${ARGN})
  math(EXPR timeout "${timeout} * 4")
  set_tests_properties(${name} PROPERTIES LABELS long TIMEOUT ${timeout})
endfunction()

function(halograph_test name)
  cmake_parse_arguments(ARG "${kinds};LONG;SYNCS" "COST" "${lists}" ${ARGN})
  if(NOT ARG_COST)
    set(ARG_COST 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE halograph_flags ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  halograph_compile_test(${name} ${ARGN})
  if(NOT ARG_SYNCS)
    target_link_libraries(${name} PRIVATE halograph_no_sync)
  endif()
  set(tests ${name})
  if(ARG_LONG)
    set(suites "*LongTest.*:*LongTest/*")
    add_test(NAME ${name} COMMAND ${name} "--gtest_filter=-${suites}")
    halograph_long_test(${name}_long ${HALOGRAPH_TEST_TIMEOUT} COMMAND ${name} "--gtest_filter=${suites}")
    set_tests_properties(${name}_long PROPERTIES FAIL_REGULAR_EXPRESSION " 0 tests from 0 test")
    list(APPEND tests ${name}_long)
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${HALOGRAPH_TEST_TIMEOUT} COST ${ARG_COST})
  # REQUIRED_FILES: what must be built for it (.ci/shards.py).
  set_tests_properties(${tests} PROPERTIES REQUIRED_FILES $<TARGET_FILE:${name}>
    ENVIRONMENT "HALOGRAPH_TEST_DATA=${CMAKE_SOURCE_DIR}/tests/data;${ARG_ENVIRONMENT}")
  set_property(TEST ${tests} APPEND PROPERTY LABELS ${ARG_LABELS})
endfunction()

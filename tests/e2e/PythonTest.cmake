# Tests of the whole programs, in Python (standard library only).
#   halograph_python_test(test_x.py LABEL e2e TIMEOUT 120 NEEDS HALOGRAPH_PARTITIONER ...)
# registers every class `...Test` of the file as one test, <file>.<class>, if the build has all that
# NEEDS names. A class whose tests all skip counts as skipped.
include_guard()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(HALOGRAPH_TIME_SCALE 1)
if(HALOGRAPH_SANITIZE)
  set(HALOGRAPH_TIME_SCALE 4)
endif()

function(halograph_python_test file)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT;PROCESSORS" "NEEDS" ${ARGN})
  foreach(need ${ARG_NEEDS})
    if(NOT ${need})
      return()
    endif()
  endforeach()
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 1)
  endif()
  math(EXPR timeout "${ARG_TIMEOUT} * ${HALOGRAPH_TIME_SCALE}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} classes REGEX "^class [A-Za-z]+Test\\(")
  get_filename_component(module ${file} NAME_WE)
  foreach(line ${classes})
    string(REGEX MATCH "[A-Za-z]+Test" class "${line}")
    set(name ${module}.${class})
    add_test(NAME ${name} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${class})
    set_tests_properties(${name} PROPERTIES
      LABELS ${ARG_LABEL} TIMEOUT ${timeout} PROCESSORS ${ARG_PROCESSORS} SKIP_RETURN_CODE 77
      ENVIRONMENT "HALOGRAPH_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};HALOGRAPH_TEST_DATA=${CMAKE_SOURCE_DIR}/tests/data;HALOGRAPH_TIME_SCALE=${HALOGRAPH_TIME_SCALE};PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/e2e;PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endfunction()

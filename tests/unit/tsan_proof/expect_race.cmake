# Runs PROGRAM with the options of the environment; fails unless it ends with ThreadSanitizer's
# exit code after a report of a data race.
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT code EQUAL 66)
  message(FATAL_ERROR "exit code ${code} instead of 66: the race was not reported\n${out}${err}")
endif()
if(NOT err MATCHES "ThreadSanitizer: data race")
  message(FATAL_ERROR "no report of a data race:\n${out}${err}")
endif()

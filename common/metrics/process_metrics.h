// What every program shows of itself, under the names that Prometheus' clients use:
// process_cpu_seconds_total, process_start_time_seconds, process_resident_memory_bytes,
// process_virtual_memory_bytes, process_open_fds, process_max_fds (-1: no limit) and
// process_threads, from /proc; process_processor_wait_seconds_total (processor_wait.h) and
// process_usable_processors (common/base/processors.h), which such clients do not have; and
// halograph_build_info{program,version} 1 and halograph_uptime_seconds.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/metrics/reader.h"
#include "common/metrics/registry.h"

namespace halograph {

// They are read at each Take, as long as the handles live. `program`: "halograph-server". A figure
// that /proc does not give is left out. Uptime counts from this call.
[[nodiscard]] std::vector<MetricReader> AddProcessMetrics(MetricRegistry* metrics,
                                                          std::string_view program);

// What /proc/PID/stat says of a process.
struct ProcessFigures {
  std::chrono::nanoseconds cpu{0};  // of all its threads, in the program and in the kernel
  int64_t threads = 0;
  double start_after_boot_seconds = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
};
// `stat`: the file's text. DataLoss for a text that is none. Whatever the program's name is in it.
[[nodiscard]] StatusOr<ProcessFigures> ParseProcessFigures(std::string_view stat);

}  // namespace halograph

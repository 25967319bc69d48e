// Runs one method on one graph in a process of its own. So its peak memory is measured alone,
// and a method that runs out of memory does not end the others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <unistd.h>

#include "common/base/status.h"
#include "partitioner/methods/method.h"

namespace halograph {

struct MethodRun {
  Assignment assignment;
  double seconds = 0;                // of Assign
  double cpu_seconds = 0;            // all threads, user and system: comparable on a busy machine
  int64_t peak_anonymous_bytes = 0;  // of the process, the program itself included
};

// Runs method `name` in a child process; `scratch`: an existing folder for its files, which are
// gone afterwards. `options.memory` is checked before the start. Not for processes with other
// threads: the child is forked, without exec. `fork` is as the system's: a program whose signals a
// thread handles gives StopSignal::Fork.
//   InvalidArgument    no such method, and what Assign reports
//   ResourceExhausted  the method's plan exceeds options.memory (CheckMemory); the child was killed
//                      from outside, as the kernel does that is out of memory
// and whatever Assign reports.
[[nodiscard]] StatusOr<MethodRun> RunMethodInChild(const Dataset& dataset, const std::string& name,
                                                   const MethodOptions& options,
                                                   const std::filesystem::path& scratch,
                                                   const std::function<pid_t()>& fork = ::fork);

}  // namespace halograph

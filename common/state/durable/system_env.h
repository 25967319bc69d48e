// The machine itself as an Env: POSIX files, threads, the steady clock, a catalogue in RocksDB, and
// threads that help with large pushes.
#pragma once

#include <memory>

#include "common/state/env.h"

namespace halograph {

// `threads`: with how many the process works on calls, as HelperThreads::Make.
[[nodiscard]] std::unique_ptr<Env> MakeSystemEnv(int threads = 0);

}  // namespace halograph

// The machine itself as an Env: POSIX files, threads, the steady clock, and a catalogue in RocksDB.
#pragma once

#include <memory>

#include "common/state/env.h"

namespace halograph {

[[nodiscard]] std::unique_ptr<Env> MakeSystemEnv();

}  // namespace halograph

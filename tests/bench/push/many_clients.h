// Pushes of several clients at once, against what the machine can do at most.
#pragma once

#include <filesystem>

#include "common/storage/json.h"
#include "tests/bench/push/bench_stores.h"

namespace halograph {

struct ManyClients {
  std::filesystem::path folder;
  int rounds = 9;
  int pushes = 8;  // of a round, shared by the clients; a multiple of 4
};

// At SyncLevel::kAlways by 1, 2 and 4 clients, against the slower of the update in memory by one
// thread and bare direct writes of the same bytes, each with fdatasync, to a file that was written
// before. In turns.
[[nodiscard]] Status AlwaysRounds(const ManyClients& options, const MutableTensorSpec& spec,
                                  const std::vector<ReceivedRows>& pushes, Json* report);

// At SyncLevel::kInterval, a client a processor with a tensor of its own, against as many threads
// that update tables in memory.
[[nodiscard]] Status AllCoresRounds(const ManyClients& options, const MutableTensorSpec& spec,
                                    const std::vector<ReceivedRows>& pushes, Json* report);

}  // namespace halograph

// The control of durable_push_bench: rows and optimizer state in RocksDB, a row a key, tuned for
// fixed rows as those do who run it at scale: no log, universal compaction that may take 400 % of
// the space, direct reads and flushes, hash indexes, bloom filters for files and memtables, large
// memtables into which sorted rows go with a hint. Checksums stay on.
#pragma once

#include <filesystem>

#include "common/storage/json.h"
#include "tests/bench/push/bench_stores.h"

namespace halograph {

// All rows are put first. Then pushes read the images of their rows, update them in memory, and put
// them back: nothing of it is durable. In turns with the same update of a table in memory; the puts
// alone, which any such store must do, are told too.
[[nodiscard]] Status RocksDbRounds(const std::filesystem::path& folder, int rounds,
                                   const MutableTensorSpec& spec,
                                   const std::vector<ReceivedRows>& pushes, Json* report);

}  // namespace halograph

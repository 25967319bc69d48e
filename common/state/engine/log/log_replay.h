// Reads the push log back: every record in the order of its LSN, up to the end that a crash left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "common/base/status.h"
#include "common/state/engine/log/record.h"
#include "common/state/engine/log/segment.h"

namespace halograph {

// Where a record lies.
struct RecordPlace {
  std::filesystem::path path;
  int64_t offset = 0;
  uint64_t epoch = 0;
  int64_t lsn = 0;
};

struct ReplayedLog {
  int64_t last_lsn = 0;               // of the last whole record; first_lsn - 1 if there is none
  int64_t durable_lsn = 0;            // up to here the log is known to be synced
  std::vector<RecordPlace> unsynced;  // records above durable_lsn, in their order
  std::vector<Segment> segments;      // that hold records up to last_lsn, with their bounds
  std::vector<Segment> unused;        // the others: nothing in them counts again
  Status damage;                      // where a record is missing that had been synced; OK: nowhere
  int64_t known_lsn = 0;              // the largest that anything shows to have been given
  // Where a record is missing before others, though nothing shows that it had been synced; OK:
  // nowhere. And how many the log lacks from there on, at least.
  Status hole;
  int64_t behind_hole = 0;
};

// Gives every record from `first_lsn` on to `apply`. What the record borrows lives until `apply`
// returns. `durable_lsn`: up to here the log is known to be synced.
//
// The log ends at the first record that is missing or damaged. If nothing shows that it had been
// synced, a crash of the machine may have dropped it and kept later ones: a hole. Otherwise it is
// damage. Both are DataLoss naming file and offset, in the result. Errors of `apply` and FileSystem
// are passed on.
[[nodiscard]] StatusOr<ReplayedLog> ReplayLog(std::vector<Segment> segments, int64_t first_lsn,
                                              int64_t durable_lsn, FileSystem& files,
                                              const std::function<Status(const LogRecord&)>& apply);

// Reads the record at `place` into `buffer`, which the result borrows. DataLoss naming the place if
// it is damaged.
[[nodiscard]] StatusOr<LogRecord> ReadRecord(const RecordPlace& place, FileSystem& files,
                                             std::vector<std::byte>* buffer);

}  // namespace halograph

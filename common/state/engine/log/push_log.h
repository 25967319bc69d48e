// The push log: every push in the order of its LSN, in segment files. One thread writes what others
// append (at SyncLevel::kAlways past the page cache, and syncs it in groups), one syncs at
// kInterval, one keeps an empty segment ready. Thread-safe.
//
// After the first failed write or sync it takes nothing more, for good. At kInterval what was
// acknowledged before is synced nevertheless, unless it was a sync that failed.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/state/engine/log/block_writer.h"
#include "common/state/engine/log/log_replay.h"
#include "common/state/engine/log/segment.h"
#include "common/state/env.h"
#include "common/state/patience.h"
#include "common/state/state_store.h"

namespace halograph {

struct PushLogOptions {
  std::filesystem::path folder;
  uint64_t stamp = 0;  // whose log it is
  SyncLevel sync = SyncLevel::kInterval;
  int64_t sync_interval_ns = 0;
  int64_t segment_bytes = 0;
  // A record that had been synced and is missing ends the log; else Open fails.
  bool accept_loss = false;
  std::function<void(const Status& damage, int64_t pushes)> on_loss = nullptr;  // StateOptions'
  std::function<void(const Status& end, int64_t records)> on_unsynced_loss = nullptr;  // likewise
  std::function<void(const Status& reason, bool readable)> on_failure = nullptr;  // StateOptions'
  std::function<void(int64_t ns)> on_sync = nullptr;  // the same, of this part
};

// Where the log begins for a state that a checkpoint holds.
struct LogStart {
  uint64_t first_epoch = 0;  // segments before it are free
  NamedSegments segments;
  int64_t first_lsn = 1;    // records before it are not needed
  int64_t last_lsn = 0;     // LSNs up to here were given, whatever the log holds
  int64_t durable_lsn = 0;  // up to here it was synced
};

// Who a replay gives the records to, and tells their end, before anything is written. An error of
// either ends Open.
struct LogReader {
  std::function<Status(const LogRecord&)> record;
  std::function<Status()> end;
};

class PushLog {
 public:
  // Replays what the folder holds, makes it durable unless `sync` is kNever, tells `names`, and
  // starts. `names` and `env` outlive it.
  //   DataLoss  a segment that is named is damaged, or a record that had been synced is missing:
  //             file, offset, and how many pushes are gone at least. Not with accept_loss
  //   else      errors of `replay`, ReplayLog, FileSystem and SegmentNames
  [[nodiscard]] static StatusOr<std::unique_ptr<PushLog>> Open(const PushLogOptions& options,
                                                               const LogStart& start,
                                                               SegmentNames& names, Env& env,
                                                               const LogReader& replay);
  // Writes what was appended; syncs nothing. No call may be in progress.
  ~PushLog();
  PushLog(const PushLog&) = delete;
  PushLog& operator=(const PushLog&) = delete;

  // Queues records, to be written and synced together. Their LSNs follow one another, and that of
  // the record before. They and what they borrow are the log's until WaitAcknowledged of them
  // returns, but not for want of patience. Without memory the process ends.
  void Append(std::span<LogRecord* const> records) noexcept;
  // Until the record is as durable as the level says. Unavailable with the reason after a failure:
  // the record may be in the log.
  // DeadlineExceeded, Cancelled: by `patience`; then KeepUntilReleased is to be called.
  [[nodiscard]] Status WaitAcknowledged(int64_t lsn, const Patience& patience = {});
  // Holds on to `kept`, which has the record and what it borrows, until the log has no use for
  // them.
  void KeepUntilReleased(int64_t lsn, std::shared_ptr<const void> kept);

  // Syncs all that was appended up to `lsn`. DeadlineExceeded, Cancelled: by `patience`; it goes
  // on.
  [[nodiscard]] Status SyncTo(int64_t lsn, const Patience& patience = {});
  // The epoch of the first segment that is needed if records up to `lsn` are not.
  [[nodiscard]] uint64_t FirstEpochAfter(int64_t lsn) const;
  // Segments before `first_epoch`, which FirstEpochAfter gave, are not named any more.
  void Free(uint64_t first_epoch);

  // With accept_loss, what Open found: the damage, which is OK if there was none, and how many
  // records are missing at least. LSNs go on behind all that are known to have been given.
  struct Loss {
    Status damage;
    int64_t pushes = 0;
  };
  [[nodiscard]] const Loss& loss() const { return loss_; }
  // Files that Open found with the name of a segment, which are none.
  [[nodiscard]] const std::vector<std::filesystem::path>& unknown() const { return unknown_; }

  // Unavailable naming what failed; OK as long as nothing did.
  [[nodiscard]] Status failure() const;
  // Fails as if a write had failed. Not `readable`: rows cannot be read any more either.
  void Fail(const Status& reason, bool readable = true);

  struct Stats {
    int64_t last_lsn = 0;
    int64_t synced_lsn = 0;
    int64_t bytes = 0;               // of the records that a replay would read
    int64_t full_segment_bytes = 0;  // of their files but the last
    int64_t syncs = 0;
    int64_t sync_ns = 0;
    int64_t replayed = 0;
  };
  [[nodiscard]] Stats stats() const;

 private:
  PushLog(const PushLogOptions& options, SegmentNames& names, Env& env);

  [[nodiscard]] Status Begin(const LogStart& start, const LogReader& replay);
  [[nodiscard]] Status CheckLoss(const SegmentFolder::Found& found, const ReplayedLog& log);
  [[nodiscard]] Status WriteAgain(const std::vector<RecordPlace>& places);
  [[nodiscard]] Status BeginBehindLoss();
  // Tells which segments hold records, and frees the others.
  [[nodiscard]] Status NameSegments(const std::vector<Segment>& unused, int64_t synced_lsn);
  void WriteLoop();
  void SyncLoop();
  void SpareLoop();
  [[nodiscard]] Status WriteBatch(const std::vector<LogRecord*>& batch, int64_t durable_lsn);
  [[nodiscard]] Status WritePieces(std::vector<std::span<const std::byte>>* pieces, int64_t offset);
  [[nodiscard]] Status NextSegment(int64_t record_bytes);
  [[nodiscard]] StatusOr<Segment> TakeSpare(int64_t record_bytes);
  [[nodiscard]] Status SyncSegments(int64_t target);
  void FailLocked(const Status& reason, bool readable = true);  // requires the monitor
  void TellFailure();  // if there is a new one; without the monitor

  const PushLogOptions options_;
  Env& env_;
  std::unique_ptr<Monitor> folder_monitor_;  // of folder_; before monitor_
  SegmentNames& names_;
  SegmentFolder folder_;
  std::unique_ptr<BlockWriter> blocks_;  // at kAlways; of the thread that writes

  Loss loss_;  // this and the next are of Open
  std::vector<std::filesystem::path> unknown_;
  const std::unique_ptr<Monitor> monitor_;  // of all below
  std::vector<LogRecord*> queue_;
  int64_t last_lsn_ = 0;      // given
  int64_t released_lsn_ = 0;  // written or given up: what is borrowed is free
  std::multimap<int64_t, std::shared_ptr<const void>> kept_;  // by LSN, above released_lsn_
  int64_t written_lsn_ = 0;
  int64_t synced_lsn_ = 0;
  int64_t sync_wanted_ = 0;        // SyncTo
  int64_t unsynced_since_ns_ = 0;  // when the oldest record that is not synced was written
  std::deque<Segment> segments_;   // that hold records, in their order; the last is written to
  std::optional<Segment> spare_;
  Status spare_error_;  // of the last try, until who needs a segment has seen it
  Status failure_;
  Status untold_;         // why it failed, until on_failure was called
  bool readable_ = true;  // as far as Fail knows
  bool syncing_ = false;
  bool sync_failed_ = false;
  bool stopping_ = false;
  int64_t syncs_ = 0;
  int64_t sync_ns_ = 0;
  int64_t replayed_ = 0;

  std::vector<std::unique_ptr<RunningThread>> threads_;
};

}  // namespace halograph

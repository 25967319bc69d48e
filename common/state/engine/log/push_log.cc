#include "common/state/engine/log/push_log.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace halograph {
namespace {

bool HasSpaceFor(const Segment& segment, int64_t bytes) {
  return segment.end + bytes <= segment.bytes;
}

int64_t RecordBytes(const LogRecord& record) {
  return LayoutOf(record.push.ids.size(), record.push.rows.size(),
                  std::numeric_limits<int64_t>::max() / 4)
      ->bytes;
}

// What is to be durable at once goes past the page cache: it costs a fraction of the processor
// time.
FileSystem::Write HowWritten(SyncLevel sync) {
  return sync == SyncLevel::kAlways ? FileSystem::Write::kDirect : FileSystem::Write::kCached;
}

}  // namespace

PushLog::PushLog(const PushLogOptions& options, SegmentNames& names, Env& env)
    : options_(options),
      env_(env),
      folder_monitor_(env.scheduler().NewMonitor()),
      names_(names),
      folder_(options.folder, options.stamp, HowWritten(options.sync), names, env),
      blocks_(options.sync == SyncLevel::kAlways ? std::make_unique<BlockWriter>() : nullptr),
      monitor_(env.scheduler().NewMonitor()) {}

StatusOr<std::unique_ptr<PushLog>> PushLog::Open(const PushLogOptions& options,
                                                 const LogStart& start, SegmentNames& names,
                                                 Env& env, const LogReader& replay) {
  std::unique_ptr<PushLog> log(new PushLog(options, names, env));
  HG_RETURN_IF_ERROR(log->Begin(start, replay));
  Scheduler& scheduler = env.scheduler();
  PushLog* self = log.get();
  log->threads_.push_back(scheduler.Start("hg-log-write", [self] { self->WriteLoop(); }));
  log->threads_.push_back(scheduler.Start("hg-log-space", [self] { self->SpareLoop(); }));
  log->threads_.push_back(scheduler.Start("hg-log-sync", [self] { self->SyncLoop(); }));
  return log;
}

PushLog::~PushLog() {
  {
    const MonitorLock lock(*monitor_);
    stopping_ = true;
    monitor_->NotifyAll();
  }
  threads_.clear();
}

Status PushLog::Begin(const LogStart& start, const LogReader& replay) {
  HG_ASSIGN_OR_RETURN(SegmentFolder::Found found, folder_.Open(start.segments, start.first_epoch));
  const std::function<Status(const LogRecord&)> counted = [&](const LogRecord& record) {
    ++replayed_;
    return replay.record(record);
  };
  HG_ASSIGN_OR_RETURN(ReplayedLog log, ReplayLog(std::move(found.segments), start.first_lsn,
                                                 std::max(start.durable_lsn, found.durable_lsn),
                                                 env_.files(), counted));
  HG_RETURN_IF_ERROR(replay.end());
  HG_RETURN_IF_ERROR(CheckLoss(found, log));
  unknown_ = std::move(found.unknown);
  segments_.assign(std::make_move_iterator(log.segments.begin()),
                   std::make_move_iterator(log.segments.end()));
  last_lsn_ = released_lsn_ = written_lsn_ =
      std::max(loss_.damage.ok() ? log.last_lsn : log.known_lsn, start.last_lsn);
  synced_lsn_ = log.durable_lsn;
  // All at once, before the first one that begins is named alone.
  if (!start.segments.known) HG_RETURN_IF_ERROR(NameSegments({}, log.durable_lsn));
  if (options_.sync == SyncLevel::kNever) {
    // Synced by the next checkpoint, but not written to: its end may be a torn record.
    for (Segment& segment : segments_) {
      HG_ASSIGN_OR_RETURN(segment.file,
                          env_.files().OpenToWrite(segment.path, FileSystem::Write::kCached));
    }
    if (!segments_.empty()) segments_.back().end = segments_.back().bytes;
    HG_RETURN_IF_ERROR(BeginBehindLoss());
    return NameSegments(log.unused, loss_.damage.ok() ? log.durable_lsn : last_lsn_);
  }
  HG_RETURN_IF_ERROR(WriteAgain(log.unsynced));
  HG_RETURN_IF_ERROR(BeginBehindLoss());
  synced_lsn_ = last_lsn_;
  // Without a word of it every start after a crash would write the same records to one more
  // segment.
  return NameSegments(log.unused, last_lsn_);
}

Status PushLog::CheckLoss(const SegmentFolder::Found& found, const ReplayedLog& log) {
  const Status& damage = found.damage.ok() ? log.damage : found.damage;
  if (damage.ok()) {
    if (!log.hole.ok() && options_.on_unsynced_loss != nullptr) {
      options_.on_unsynced_loss(log.hole, log.behind_hole);
    }
    return OkStatus();
  }
  loss_ = {MakeStatus(damage.code(), Message(damage)), log.known_lsn - log.last_lsn};
  if (options_.accept_loss) {
    // Before anything changes: a process that ends in between has said too much, not too little.
    if (options_.on_loss != nullptr) options_.on_loss(loss_.damage, loss_.pushes);
    return OkStatus();
  }
  return DataLoss(
      "{}. Restore a copy of the state, or come up without what is missing, which is {} pushes "
      "from LSN {} on, or more: --accept-loss",
      Message(damage), loss_.pushes, log.last_lsn + 1);
}

// So that a checkpoint frees the damaged segment: the last one is never free.
Status PushLog::BeginBehindLoss() {
  if (loss_.damage.ok()) return OkStatus();
  return NextSegment(options_.segment_bytes - kLogBlockBytes);
}

Status PushLog::NameSegments(const std::vector<Segment>& unused, int64_t synced_lsn) {
  NamedSegments named;
  named.known = true;
  named.next_epoch = folder_.next_epoch();
  for (const Segment& segment : segments_) {
    named.used.push_back({segment.number, segment.epoch, segment.bytes});
  }
  HG_RETURN_IF_ERROR(names_.SetSegments(named, synced_lsn));
  // What lies behind damage stays until a checkpoint replaces it.
  if (!loss_.damage.ok()) return OkStatus();
  for (const Segment& segment : unused) folder_.Free(segment, options_.segment_bytes);
  return OkStatus();
}

// A sync that failed before the restart may have dropped pages that this process still reads: a
// second sync of the same pages would prove nothing. So they are written to other files.
Status PushLog::WriteAgain(const std::vector<RecordPlace>& places) {
  if (places.empty()) return OkStatus();
  std::vector<std::byte> buffer;
  HG_RETURN_IF_ERROR(NextSegment(options_.segment_bytes - kLogBlockBytes));
  for (const RecordPlace& place : places) {
    HG_ASSIGN_OR_RETURN(LogRecord record, ReadRecord(place, env_.files(), &buffer));
    HG_RETURN_IF_ERROR(WriteBatch({&record}, synced_lsn_));
  }
  return SyncSegments(last_lsn_);
}

void PushLog::Append(std::span<LogRecord* const> records) noexcept {
  if (records.empty()) return;
  const MonitorLock lock(*monitor_);
  queue_.insert(queue_.end(), records.begin(), records.end());
  last_lsn_ = records.back()->lsn;
  monitor_->NotifyAll();
}

Status PushLog::WaitAcknowledged(int64_t lsn, const Patience& patience) {
  const bool synced = options_.sync == SyncLevel::kAlways;
  const MonitorLock lock(*monitor_);
  while (released_lsn_ < lsn) {
    HG_RETURN_IF_ERROR(Annotate(patience.Wait(*monitor_), "it is being written to the log"));
  }
  if (!synced) return written_lsn_ >= lsn ? OkStatus() : failure_;
  while (synced_lsn_ < lsn && failure_.ok()) {
    HG_RETURN_IF_ERROR(Annotate(patience.Wait(*monitor_), "the log is being synced"));
  }
  return synced_lsn_ >= lsn ? OkStatus() : failure_;
}

void PushLog::KeepUntilReleased(int64_t lsn, std::shared_ptr<const void> kept) {
  const MonitorLock lock(*monitor_);
  // Else the caller's own goes with it, without the lock.
  if (released_lsn_ < lsn) kept_.emplace(lsn, std::move(kept));
}

void PushLog::WriteLoop() {
  std::vector<LogRecord*> batch;
  while (true) {
    int64_t durable_lsn = 0;
    bool failed = false;
    {
      const MonitorLock lock(*monitor_);
      while (queue_.empty() && !stopping_) monitor_->Wait(kForever);
      if (queue_.empty()) return;
      batch.swap(queue_);
      durable_lsn = synced_lsn_;
      failed = !failure_.ok();
    }
    const int64_t last = batch.back()->lsn;
    std::vector<std::shared_ptr<const void>> free;  // without the lock
    Status status = OkStatus();
    if (!failed) status = WriteBatch(batch, durable_lsn);
    batch.clear();
    {
      const MonitorLock lock(*monitor_);
      if (!status.ok()) FailLocked(status);
      if (failure_.ok()) {
        if (synced_lsn_ == written_lsn_) unsynced_since_ns_ = env_.scheduler().NowNs();
        written_lsn_ = last;
      }
      failed = !failure_.ok();
      released_lsn_ = last;
      for (auto kept = kept_.begin(); kept != kept_.end() && kept->first <= last;) {
        free.push_back(std::move(kept->second));
        kept = kept_.erase(kept);
      }
      monitor_->NotifyAll();
    }
    if (!status.ok()) TellFailure();
    if (failed || options_.sync != SyncLevel::kAlways) continue;
    if (const Status synced = SyncSegments(last); !synced.ok()) Fail(synced);
  }
}

Status PushLog::WriteBatch(const std::vector<LogRecord*>& batch, int64_t durable_lsn) {
  std::vector<RecordHeader> headers(batch.size());
  std::vector<std::span<const std::byte>> pieces;
  int64_t offset = 0;  // of the first piece
  for (size_t i = 0; i < batch.size(); ++i) {
    LogRecord& record = *batch[i];
    const int64_t bytes = RecordBytes(record);
    const bool fits = [&] {
      const MonitorLock lock(*monitor_);
      return !segments_.empty() && segments_.back().file != nullptr &&
             HasSpaceFor(segments_.back(), bytes);
    }();
    if (!fits) {
      HG_RETURN_IF_ERROR(WritePieces(&pieces, offset));
      HG_RETURN_IF_ERROR(NextSegment(bytes));
    }
    const MonitorLock lock(*monitor_);
    Segment& segment = segments_.back();
    if (pieces.empty()) offset = segment.end;
    record.epoch = segment.epoch;
    record.durable_lsn = durable_lsn;
    headers[i] = EncodeHeader(record);
    AppendPieces(record, headers[i], &pieces);
    segment.end += bytes;
    if (segment.first_lsn == 0) segment.first_lsn = record.lsn;
    segment.last_lsn = record.lsn;
  }
  return WritePieces(&pieces, offset);
}

Status PushLog::WritePieces(std::vector<std::span<const std::byte>>* pieces, int64_t offset) {
  if (pieces->empty()) return OkStatus();
  WritableFile* file = nullptr;
  {
    const MonitorLock lock(*monitor_);
    file = segments_.back().file.get();
  }
  HG_RETURN_IF_ERROR(blocks_ != nullptr ? blocks_->WriteAt(*file, offset, *pieces)
                                        : file->WriteAt(offset, *pieces));
  pieces->clear();
  return OkStatus();
}

Status PushLog::NextSegment(int64_t record_bytes) {
  HG_ASSIGN_OR_RETURN(Segment segment, TakeSpare(record_bytes));
  const MonitorLock lock(*monitor_);
  segments_.push_back(std::move(segment));
  return OkStatus();
}

StatusOr<Segment> PushLog::TakeSpare(int64_t record_bytes) {
  if (!threads_.empty()) {
    const MonitorLock lock(*monitor_);
    // At the end nobody else makes one.
    while (!spare_.has_value() && spare_error_.ok() && !stopping_) monitor_->Wait(kForever);
    // The disk may have room by now: it is tried once more, here.
    spare_error_ = OkStatus();
  }
  // Epochs ascend in the order of use: no other segment is begun between taking one and its use.
  const MonitorLock lock_folder(*folder_monitor_);
  std::optional<Segment> spare;
  {
    const MonitorLock lock(*monitor_);
    spare = std::exchange(spare_, std::nullopt);
    monitor_->NotifyAll();
  }
  if (spare.has_value() && HasSpaceFor(*spare, record_bytes)) return *std::move(spare);
  if (spare.has_value()) {
    HG_RETURN_IF_ERROR(names_.ForgetSegment(spare->number));
    folder_.Free(*spare, options_.segment_bytes);
  }
  return folder_.Begin(std::max(record_bytes, options_.segment_bytes - kLogBlockBytes),
                       stats().synced_lsn);
}

void PushLog::SpareLoop() {
  while (true) {
    {
      const MonitorLock lock(*monitor_);
      while ((spare_.has_value() || !spare_error_.ok()) && !stopping_) monitor_->Wait(kForever);
      if (stopping_ && queue_.empty()) return;
    }
    // It is there before another one can begin: epochs ascend in the order of use.
    const MonitorLock lock_folder(*folder_monitor_);
    StatusOr<Segment> spare =
        folder_.Begin(options_.segment_bytes - kLogBlockBytes, stats().synced_lsn);
    const MonitorLock lock(*monitor_);
    if (spare.ok()) {
      spare_ = *std::move(spare);
    } else {
      spare_error_ = spare.status();
    }
    monitor_->NotifyAll();
  }
}

void PushLog::SyncLoop() {
  while (true) {
    int64_t target = 0;
    {
      const MonitorLock lock(*monitor_);
      while (true) {
        const bool behind = synced_lsn_ < written_lsn_;
        // What was acknowledged before a write failed is synced nevertheless.
        if (!failure_.ok() && behind && options_.sync == SyncLevel::kInterval) break;
        if (stopping_ || !failure_.ok()) return;
        if (behind && sync_wanted_ > synced_lsn_) break;
        if (!behind || options_.sync != SyncLevel::kInterval) {
          monitor_->Wait(kForever);
          continue;
        }
        // Half of the interval is left to the sync itself.
        const int64_t due = unsynced_since_ns_ + options_.sync_interval_ns / 2;
        if (env_.scheduler().NowNs() >= due) break;
        monitor_->Wait(due);
      }
      target = written_lsn_;
      unsynced_since_ns_ = env_.scheduler().NowNs();
    }
    if (const Status synced = SyncSegments(target); !synced.ok()) {
      Fail(synced);
      return;
    }
  }
}

// One at a time: after a sync that failed, the kernel tells nobody else that it dropped what was
// written, and a sync beside it would seem to have made that durable.
Status PushLog::SyncSegments(int64_t target) {
  std::vector<std::shared_ptr<WritableFile>> files;
  {
    const MonitorLock lock(*monitor_);
    while (syncing_) monitor_->Wait(kForever);
    if (sync_failed_) return failure_;
    if (synced_lsn_ >= target) return OkStatus();
    syncing_ = true;
    for (const Segment& segment : segments_) {
      if (segment.file != nullptr && segment.first_lsn <= target &&
          segment.last_lsn > synced_lsn_) {
        files.push_back(segment.file);
      }
    }
  }
  const int64_t begin = env_.scheduler().NowNs();
  Status synced;
  for (const auto& file : files) {
    if (synced.ok()) synced = file->Sync();
  }
  const int64_t took = env_.scheduler().NowNs() - begin;
  if (synced.ok() && options_.on_sync != nullptr) options_.on_sync(took);
  const MonitorLock lock(*monitor_);
  syncing_ = false;
  if (!synced.ok()) {
    sync_failed_ = true;
    FailLocked(synced);
    return synced;
  }
  synced_lsn_ = std::max(synced_lsn_, target);
  ++syncs_;
  sync_ns_ += took;
  monitor_->NotifyAll();
  return OkStatus();
}

Status PushLog::SyncTo(int64_t lsn, const Patience& patience) {
  const MonitorLock lock(*monitor_);
  sync_wanted_ = std::max(sync_wanted_, lsn);
  monitor_->NotifyAll();
  while (synced_lsn_ < lsn && failure_.ok()) {
    HG_RETURN_IF_ERROR(Annotate(patience.Wait(*monitor_), "the log is being synced"));
  }
  return synced_lsn_ >= lsn ? OkStatus() : failure_;
}

void PushLog::Free(uint64_t first_epoch) {
  std::vector<Segment> freed;
  {
    const MonitorLock lock(*monitor_);
    while (!segments_.empty() && segments_.front().epoch < first_epoch) {
      freed.push_back(std::move(segments_.front()));
      segments_.pop_front();
    }
  }
  const MonitorLock lock(*folder_monitor_);
  for (const Segment& segment : freed) folder_.Free(segment, options_.segment_bytes);
}

uint64_t PushLog::FirstEpochAfter(int64_t lsn) const {
  const MonitorLock lock(*monitor_);
  for (const Segment& segment : segments_) {
    if (segment.last_lsn > lsn || &segment == &segments_.back()) return segment.epoch;
  }
  return 0;
}

Status PushLog::failure() const {
  const MonitorLock lock(*monitor_);
  return failure_;
}

void PushLog::Fail(const Status& reason, bool readable) {
  {
    const MonitorLock lock(*monitor_);
    FailLocked(reason, readable);
  }
  TellFailure();
}

void PushLog::TellFailure() {
  if (options_.on_failure == nullptr) return;
  Status reason;
  bool readable = true;
  {
    const MonitorLock lock(*monitor_);
    reason = std::exchange(untold_, OkStatus());
    readable = readable_;
  }
  if (!reason.ok()) options_.on_failure(reason, readable);
}

void PushLog::FailLocked(const Status& reason, bool readable) {
  // A text of its own: another thread may tell it while the caller's goes away.
  if (failure_.ok() || (readable_ && !readable)) {
    untold_ = MakeStatus(reason.code(), Message(reason));
  }
  readable_ = readable_ && readable;
  if (failure_.ok()) {
    failure_ =
        Unavailable("pushes are refused since a write failed: {}; restart when that is mended",
                    Message(reason));
  }
  monitor_->NotifyAll();
}

PushLog::Stats PushLog::stats() const {
  const MonitorLock lock(*monitor_);
  Stats stats;
  stats.last_lsn = last_lsn_;
  stats.synced_lsn = synced_lsn_;
  for (const Segment& segment : segments_) {
    stats.bytes += segment.end - kLogBlockBytes;
    if (&segment != &segments_.back()) stats.full_segment_bytes += segment.bytes;
  }
  stats.syncs = syncs_;
  stats.sync_ns = sync_ns_;
  stats.replayed = replayed_;
  return stats;
}

}  // namespace halograph

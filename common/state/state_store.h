// StateStore: the mutable tensors of one partition. Rows are in memory, or by key on disk where
// they exceed it. Every push is in a log before it is acknowledged; checkpoints bound the log.
// Servers and trainers without one have the same engine. It knows neither gRPC nor RocksDB.
//
// Deadlines of WorkLimits count in the time of Env: `deadline` is a time point whose time since its
// epoch is compared with Scheduler::NowNs (for SystemEnv that is std::chrono::steady_clock).
//
// Thread-safe. Order: pushes get log sequence numbers (LSN, from 1 upward, one series a store) in
// the order of the log. Rows and optimizer state are a pure function of the log, whatever the
// number of threads; replaying the log gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "common/graph/row_source.h"
#include "common/state/env.h"
#include "common/state/mutable_tensor.h"
#include "common/state/row_push.h"
#include "common/state/waiting_bytes.h"

namespace halograph {

// When a push is safe from a crash of the machine. At every level but kNever an acknowledged push
// survives SIGKILL at any instant.
enum class SyncLevel : uint8_t {
  kAlways,  // when it is acknowledged
  // Soon after: a crash takes at most a suffix. The oldest push in it was acknowledged no longer
  // ago than half of sync_interval_ns (or the sync before, if that took longer), and one sync more.
  // A disk whose syncs are slow does not hold pushes back.
  kInterval,
  kNever,  // with the next checkpoint or snapshot
};

struct StateOptions {
  std::filesystem::path folder;  // of this partition: one StateStore at a time
  SyncLevel sync = SyncLevel::kInterval;
  int64_t sync_interval_ns = 200'000'000;
  // Rows and optimizer state of tensors in memory. Those that do not fit are in the folder, by key,
  // behind a cache that takes half of what is left: the same results, slower.
  int64_t memory_bytes = int64_t{4} << 30;
  int64_t segment_bytes = int64_t{64} << 20;   // of a log segment
  int64_t log_bytes = int64_t{1} << 30;        // a checkpoint is made before the log is longer
  int64_t max_push_bytes = int64_t{64} << 20;  // of one push
  // Whose sequences are kept, of ids that were drawn. One more, and the client that has not pushed
  // for longest is forgotten: if it pushes again, it must begin with a new id. It is refused if its
  // number is above kPushWindow; a lower one is taken for that of a new client, and applied even if
  // it was before. So allow for all clients that may still repeat a push.
  int max_clients = 4096;
  // Of clients that were registered (RegisterClient), apart. One leaves for a new one, where there
  // are as many, if it has not pushed for as long, and as many pushes of others came since.
  int64_t max_registered_clients = 65'536;
  int64_t client_age_s = int64_t{7} * 24 * 3600;
  int64_t client_pushes = 1'000'000;
  // Copies of synchronous pushes that wait for other ranks. The one that completes a step is not
  // copied. And, apart, of pushes whose callers did not wait for their end: beyond, pushes wait
  // before they begin.
  int64_t max_waiting_bytes = int64_t{1} << 30;
  // Counts the former in place of the store, with other stores: then its bound counts, which stores
  // that take pushes at once may exceed by one push each. Null: the store alone.
  std::shared_ptr<WaitingBytes> waiting = nullptr;
  // Told by Open, where more waits in the log than may: the tensor, the steps from the first to the
  // last one that are given up, and how many pushes of them. Their run is over. Null: nobody is
  // told.
  std::function<void(const TensorRef& tensor, int64_t first_step, int64_t last_step,
                     int64_t pushes)>
      on_given_up = nullptr;
  // A push waits while a checkpoint has more images to write that pushes to the tensor saved.
  int64_t max_image_bytes = int64_t{64} << 20;
  // Beyond them none is made, also not where a folder has more: those are kept, and opened. Marks
  // of imports (import_mark.h) are counted apart, and have the same bound.
  int64_t max_tensors = 10'000;
  int64_t max_snapshots = 256;
  int64_t step_timeout_ns = 30'000'000'000;  // a step waits for the pushes of its other ranks
  // Where the folder's own files are damaged (DataLoss): names of snapshots, of which Open takes
  // the first that is whole, and begins with all tensors as they were then. What was pushed since
  // is lost. Snapshots stay, damaged ones, too. Empty: Open fails.
  std::vector<std::string> fall_back_to = {};
  // Told by Open that it does so: the snapshot, and what is damaged. Null: nobody is told.
  std::function<void(const std::string& snapshot, const Status& damage)> on_fall_back = nullptr;
  // Where the push log is damaged, or lacks pushes that were safe: it ends there, and what is
  // missing is given up. Not: Open fails.
  bool accept_loss = false;
  // Told by Open that it does so: the damage, and how many pushes are gone at least. Null: nobody
  // is told.
  std::function<void(const Status& damage, int64_t pushes)> on_loss = nullptr;
  // Told by Open where the log ends though it has later records, and nothing shows that they were
  // synced: the record that is damaged or missing, and how many are gone at least. A machine that
  // loses power leaves it so, or a disk that damages the newest records; a process that ends does
  // not.
  // Told by the first start that finds it, and maybe by later ones. Null: nobody is told.
  std::function<void(const Status& end, int64_t records)> on_unsynced_loss = nullptr;
  // Told by Open of a file in the folder that it does not know, and where it has put it. Null:
  // nobody is told.
  std::function<void(const std::filesystem::path& file, const std::filesystem::path& now)>
      on_set_aside = nullptr;
  // Told once when a write, a sync or a checkpoint has failed, and pushes are refused until a
  // restart: `reason` names what failed. Not `readable`: rows cannot be read either; if that comes
  // later, it is told once more. Called by any thread; it must not call the store. Null: nobody is
  // told.
  std::function<void(const Status& reason, bool readable)> on_failure = nullptr;
  // Told how long each sync of the log took that did not fail. Called by any thread; it must not
  // call the store. Null: nobody is told.
  std::function<void(int part, int64_t ns)> on_sync = nullptr;
};

// Snapshots that wait for their step at a time, in one store.
inline constexpr int kMostWaitingSnapshots = 16;

// The graph and partition that the state belongs to. What it borrows outlives the store.
struct StateGraph {
  std::string identity;  // of the partition folder
  int part = 0;
  const Schema* schema = nullptr;
  const PartitionBook* book = nullptr;
  // Original ids of the partition's core nodes or edges: of node type or relation `type`.
  std::function<StatusOr<std::span<const int64_t>>(bool edge, int type)> original_ids;
};

struct PushReceipt {
  // Pulls that ask for this LSN see the push, and in synchronous mode its whole step.
  int64_t lsn = 0;
  bool repeated = false;  // it had been applied before
};

struct MutableTensorStats {
  MutableTensorSpec spec;
  IdRange ids;               // of this partition
  int64_t memory_bytes = 0;  // without rows that are beyond memory
  int64_t pushes = 0;        // since it was created
  int64_t pushed_rows = 0;
  // Rows that a push left with a value, or a number of the optimizer state that it changed, that is
  // infinite or NaN: each time, since the store was opened, without what was replayed.
  int64_t not_finite_rows = 0;
  int64_t lsn = 0;       // applied: every push of the tensor up to here is in its rows
  int64_t last_lsn = 0;  // that the store gave to a push, of any tensor
  int64_t step = -1;     // the last step applied; -1: none
  // Applied LSN minus the `min_lsn` of the oldest reader of the last minute or so, when it pulled;
  // 0 at least: how far behind the pushes are that readers know of. Pulls without min_lsn do not
  // count.
  int64_t staleness = 0;
  std::string refused;  // why pushes are refused; empty: they are not
};

struct StateStats {
  std::vector<MutableTensorStats> tensors;  // by name
  int64_t lsn = 0;                          // of the last push in the log
  int64_t synced_lsn = 0;                   // safe from a crash of the machine
  int64_t log_bytes = 0;                    // that recovery would replay
  double sync_seconds = 0;                  // spent in syncs
  int64_t syncs = 0;
  double recovery_seconds = 0;  // when the store was opened
  int64_t replayed_pushes = 0;
  // Taken since the store was opened, to tensors that were dropped too; of the rows each.
  int64_t taken_pushes = 0;
  int64_t taken_rows = 0;
  int64_t registered_clients = 0;  // in the table
  int64_t checkpoints = 0;
  // Since the last checkpoint, or since the store was opened if none was made since.
  double checkpoint_age_seconds = 0;
};

struct SnapshotInfo {
  std::string name;
  int64_t lsn = 0;                              // of the last push that it shows
  int64_t step = -1;                            // of the moment it shows; -1: none was applied
  int64_t bytes = 0;                            // written for it alone
  std::vector<MutableTensorSpec> tensors = {};  // that it has; of StateStore::Snapshots only
};

// Some of a list of tensors, which is by name (TensorRef's order).
struct TensorRange {
  std::optional<TensorRef> after = {};  // those behind it, whether it is there or not; null: all
  size_t most = SIZE_MAX;
};

// Some of a list of snapshots, which is by name.
struct SnapshotRange {
  // Behind so many tensors of a snapshot: the rest of it, if it is there, and those after it.
  struct Place {
    std::string snapshot;
    size_t tensors = 0;
  };
  std::string name = {};  // of this one alone; empty: of all
  bool tensors = true;    // each with the tensors that it has
  std::optional<Place> from = {};
  size_t most = SIZE_MAX;  // snapshots, without that of `from`, and tensors; the last may lack some
};

// Where ReadSnapshot goes on; its own business.
struct SnapshotPlace {
  uint32_t file = 0;     // of the snapshot's, from 0
  int64_t offset = 0;    // in it
  uint64_t section = 0;  // that begins there
  uint64_t row = 0;      // of the section
};

// Some rows of one tensor as they were at a snapshot.
struct SnapshotPage {
  std::vector<int64_t> rows;          // row r has position r of those that the partition owns
  std::vector<std::byte> images;      // RowLayout::image_bytes for each row
  std::optional<int64_t> step;        // the last one applied then, if this page tells: -1: none
  std::optional<SnapshotPlace> next;  // null: this was the last page
};

class StateStore {
 public:
  virtual ~StateStore() = default;

  // Opens the state of a partition and replays its log, or begins an empty one. `env` outlives it.
  //   InvalidArgument     an option that must be above 0: its name
  //   FailedPrecondition  another store has the folder; the state is of another graph or partition
  //                       (both are named); its format is newer than this build
  //   DataLoss            a damaged record before the tail of the log, a damaged segment,
  //                       checkpoint or catalogue, or a catalogue that is missing or older than
  //                       the other files: file, offset, and what to do; and none of
  //                       options.fall_back_to is whole
  //   ResourceExhausted   three bits a row do not fit into memory_bytes, or the disk is full
  [[nodiscard]] static StatusOr<std::unique_ptr<StateStore>> Open(const StateOptions& options,
                                                                  const StateGraph& graph,
                                                                  Env& env);

  // Creates a tensor, durably. If it is there with the same spec: OK, and nothing changes.
  //   InvalidArgument    a spec that makes no sense, or another one of this name: the difference
  //   AlreadyExists      the graph has a feature of this name
  //   NotFound           an unknown node type or relation
  //   ResourceExhausted  three bits a row do not fit into memory_bytes: bytes asked, used and
  //                      allowed; there are max_tensors: how many, and the option; or the disk is
  //                      full
  //   DeadlineExceeded, Cancelled  by `limits`, while another call had its turn; nothing changed
  [[nodiscard]] virtual Status Create(const MutableTensorSpec& spec,
                                      const WorkLimits& limits = {}) = 0;
  // Drops a tensor, durably. NotFound naming what exists; DeadlineExceeded, Cancelled as Create.
  [[nodiscard]] virtual Status Drop(const TensorRef& ref, const WorkLimits& limits = {}) = 0;

  // Registers a client under an id that the caller has drawn by chance, durably at every sync
  // level: its pushes say PushId::registered. Gives the LSN of the moment: every push of the client
  // has a larger one. The table keeps it through restarts, and does not forget it for others that
  // draw their ids.
  //   AlreadyExists       a client has the id: draw another
  //   ResourceExhausted   there are max_registered_clients, and none may leave
  //   Unavailable, DeadlineExceeded, Cancelled  as Push; it may be registered
  [[nodiscard]] virtual StatusOr<int64_t> RegisterClient(uint64_t client,
                                                         const WorkLimits& limits) = 0;

  // Logs and applies pushes; returns when they are as durable as options.sync says. A synchronous
  // push is applied with its step: its answer says that it is logged.
  //
  // Each has an answer, in order, and is what it would be if it were pushed alone after those
  // before it: one that is refused, or late, changes nothing for the others. Those that need not
  // wait for a shorter log, a restored snapshot or late pushes get LSNs that follow one another,
  // and are waited for together: at SyncLevel::kAlways they take one sync, up to segment_bytes of
  // them.
  //   NotFound            unknown tensor: what exists is named
  //   InvalidArgument     shape, dtype, kind or step that does not fit; a NaN or infinite value
  //                       (but of kImage and kBits); a sum of squares of an image that is below 0:
  //                       the id is named. Nothing was applied
  //   OutOfRange          an id not owned here
  //   FailedPrecondition  a step that is over; world sizes that differ; a rank that pushes a step
  //                       twice; a run that another one followed; a sequence number used twice for
  //                       different pushes (two clients with one id). With the reason
  //                       kTooOldToTell: a registered client that is not in the table, a drawn one
  //                       that is not and begins with a number above kPushWindow, or a number that
  //                       is below those that are kept
  //   ResourceExhausted   larger than max_push_bytes, or a sequence number or step further ahead
  //                       than kPushWindow; or its copy has no room among those that wait for
  //                       other ranks: the step that is due and its missing ranks are named. Or its
  //                       step alone needs more than there may be
  //   Unavailable         pushes are refused since a write failed: the reason. Restart the server
  //   DeadlineExceeded, Cancelled  by `limits`: what the push waited for. From its LSN on the
  //                       message names that: the push is applied yet, by others, and is
  //                       acknowledged when it is repeated
  // With limits, ids and rows are copied unless push.kept holds them.
  [[nodiscard]] virtual std::vector<StatusOr<PushReceipt>> Push(std::span<const StatePush> pushes,
                                                                const WorkLimits& limits) = 0;
  // One.
  [[nodiscard]] StatusOr<PushReceipt> Push(const StatePush& push, const WorkLimits& limits) {
    return std::move(Push({&push, 1}, limits).front());
  }

  // Waits for `min_lsn` (0: does not wait), at most step_timeout_ns, then copies rows as
  // RowSource::Gather; a push is seen whole or not at all. The rows show all pushes up to min_lsn.
  // But if that is the LSN of a push to a step of the tensor, they show this step whole, and need
  // not show later steps, to which other ranks may have pushed before: these may wait for who
  // pulls. Pushes that were given up are not waited for. The rows may also show pushes that are not
  // in the log yet.
  // `expected`: whose rows `out` has room for; null: of the tensor, whatever it is.
  //   NotFound, OutOfRange  as Push; NotFound also if the tensor is another one than `expected`
  //   DataLoss              at once: `min_lsn` is above the last LSN that was given to a push.
  //   Marks
  //                         come from acknowledgements, so one was lost
  //   DeadlineExceeded      `min_lsn` was not reached; names it, and the ranks of the step whose
  //                         pushes are missing. Or the rows were being changed until the deadline
  //                         of `limits`
  //   Unavailable           rows miss a push, or a snapshot could not be loaded: restart the server
  //   DataLoss, Internal    rows beyond memory could not be read
  [[nodiscard]] virtual Status Pull(const TensorRef& ref, std::span<const int64_t> ids,
                                    std::span<const int64_t> positions, int64_t min_lsn,
                                    std::byte* out, const WorkLimits& limits,
                                    const MutableTensorSpec* expected = nullptr) const = 0;

  // Whether the rows show what a Pull with this min_lsn waits for. NotFound as Describe.
  [[nodiscard]] virtual StatusOr<bool> Shows(const TensorRef& ref, int64_t min_lsn) const = 0;

  // The tensor's spec and its ids here; NotFound naming what exists.
  [[nodiscard]] virtual StatusOr<MutableTensorStats> Describe(const TensorRef& ref) const = 0;
  // Of tensors those in `range`. Others may be made and dropped while they are told.
  [[nodiscard]] virtual StateStats stats(const TensorRange& range = {}) const = 0;

  // Makes all that is applied durable and frees the log before it. DeadlineExceeded, Cancelled: by
  // `limits`, which end waits for other calls and pushes, and for the log; not the writing of
  // files.
  [[nodiscard]] virtual Status Checkpoint(const WorkLimits& limits = {}) = 0;

  // Keeps the state of one moment under `name`, durably. `step`: the moment after that step, for
  // which it waits; null: now. Pushes go on meanwhile, and so do, while it waits, checkpoints and
  // all other calls: a tensor that is created joins the set, one that is dropped leaves it. One of
  // the same name and of a step waits for the end of the first.
  //   AlreadyExists  a snapshot of this name; InvalidArgument: a name that is not [A-Za-z0-9._-]+
  //   ResourceExhausted   there are max_snapshots: how many, and the option; or the disk is full
  //   FailedPrecondition  the step is over for a tensor: it is named. A tensor of an earlier
  //                       run that nobody pushes to counts too: drop it, or take a snapshot
  //                       without a step. Or a snapshot was restored while it waited
  //   ResourceExhausted   kMostWaitingSnapshots wait: their steps; or the disk is full
  //   DeadlineExceeded    the step did not come within step_timeout_ns; or `limits`, as Checkpoint
  //   Cancelled           by `limits`, soon after it was cancelled
  [[nodiscard]] virtual StatusOr<SnapshotInfo> Snapshot(const std::string& name,
                                                        std::optional<int64_t> step,
                                                        const WorkLimits& limits) = 0;
  // By name.
  [[nodiscard]] virtual std::vector<SnapshotInfo> Snapshots(
      const SnapshotRange& range = {}) const = 0;
  // Reads what a snapshot has of a tensor, page by page: the first from place {}, each other one
  // from `next` of the page before. A row may come several times: the last time counts. Rows that
  // nobody had pushed do not come: they are as the initializer makes them. One page at least tells
  // `step`. A page has at most `max_bytes` of rows and images, but one row at least. Pushes that
  // waited for other ranks at the moment are no part of it.
  //   NotFound  no such snapshot, or it does not have the tensor: what exists is named
  //   DataLoss  a damaged file: path and offset; also a place that no page gave
  [[nodiscard]] virtual StatusOr<SnapshotPage> ReadSnapshot(const std::string& name,
                                                            const TensorRef& ref,
                                                            const SnapshotPlace& place,
                                                            size_t max_bytes) const = 0;
  // NotFound naming what exists; DeadlineExceeded, Cancelled as Create.
  [[nodiscard]] virtual Status DeleteSnapshot(const std::string& name,
                                              const WorkLimits& limits = {}) = 0;
  // Sets all tensors to what they were at the snapshot, durably; pending steps are given up.
  // NotFound as above. DeadlineExceeded, Cancelled: as Checkpoint; then nothing was restored.
  [[nodiscard]] virtual Status RestoreSnapshot(const std::string& name,
                                               const WorkLimits& limits = {}) = 0;
};

}  // namespace halograph

// The store of common/state/state_store.h. Its threads and locks:
//   monitor_        order of pushes (LSNs), clients, steps, the list of tensors. Who holds it waits
//                   for no disk, and does not compute.
//   LiveTensor      each tensor's turns order who changes its rows; readers read between changes.
//   PushLog         writes and syncs on threads of its own.
//   admin turn      one of Create, Drop, Checkpoint, Snapshot, DeleteSnapshot, RestoreSnapshot at a
//                   time; pushes and pulls go on. A snapshot that waits for its step does not have
//                   it: it takes it to begin, and to be named when its images are written.
// Locks are taken in this order: monitor_, then those of turns or of the log. The log's own take
// that of the catalogue, which takes no other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/state/engine/catalogue/state_catalogue.h"
#include "common/state/engine/checkpoint/background_work.h"
#include "common/state/engine/checkpoint/checkpoint_file.h"
#include "common/state/engine/checkpoint/moment.h"
#include "common/state/engine/kept_snapshots.h"
#include "common/state/engine/log/push_log.h"
#include "common/state/engine/rows/live_tensor.h"
#include "common/state/engine/steps/client_table.h"
#include "common/state/patience.h"
#include "common/state/state_store.h"

namespace halograph {

struct CheckpointUnderWay;

class Store : public StateStore {
 public:
  Store(const StateOptions& options, const StateGraph& graph, Env& env);
  ~Store() override;

  // What StateStore::Open promises, but for fall_back_to.
  [[nodiscard]] Status Begin();
  // In place of Begin, of a store whose Begin ended with `damage`: makes the folder what it was at
  // the first snapshot of fall_back_to that is whole, for another Store to begin with, by one write
  // of the catalogue. `damage`, and nothing changes, if none is.
  [[nodiscard]] Status FallBack(const Status& damage);
  // `damage`, with the names that fall_back_to may have: those of the snapshots, newest first, as
  // far as Begin came to know them.
  [[nodiscard]] Status WithSnapshots(const Status& damage) const;
  // Why Begin failed: on the way to the end of the log it left out pushes that it needs. Another
  // Store is to begin again, which leaves out only what is given up.
  [[nodiscard]] bool begins_again() const { return begins_again_; }
  void BeginAgain(const Store& first) { left_out_ = first.given_up_; }

  [[nodiscard]] Status Create(const MutableTensorSpec& spec, const WorkLimits& limits) override;
  [[nodiscard]] Status Drop(const TensorRef& ref, const WorkLimits& limits) override;
  [[nodiscard]] StatusOr<int64_t> RegisterClient(uint64_t client,
                                                 const WorkLimits& limits) override;
  [[nodiscard]] std::vector<StatusOr<PushReceipt>> Push(std::span<const StatePush> pushes,
                                                        const WorkLimits& limits) override;
  [[nodiscard]] Status Pull(const TensorRef& ref, std::span<const int64_t> ids,
                            std::span<const int64_t> positions, int64_t min_lsn, std::byte* out,
                            const WorkLimits& limits,
                            const MutableTensorSpec* expected) const override;
  [[nodiscard]] StatusOr<bool> Shows(const TensorRef& ref, int64_t min_lsn) const override;
  [[nodiscard]] StatusOr<MutableTensorStats> Describe(const TensorRef& ref) const override;
  [[nodiscard]] StateStats stats(const TensorRange& range) const override;
  [[nodiscard]] Status Checkpoint(const WorkLimits& limits) override;
  [[nodiscard]] StatusOr<SnapshotInfo> Snapshot(const std::string& name,
                                                std::optional<int64_t> step,
                                                const WorkLimits& limits) override;
  [[nodiscard]] std::vector<SnapshotInfo> Snapshots(const SnapshotRange& range) const override;
  [[nodiscard]] StatusOr<SnapshotPage> ReadSnapshot(const std::string& name, const TensorRef& ref,
                                                    const SnapshotPlace& place,
                                                    size_t max_bytes) const override;
  [[nodiscard]] Status DeleteSnapshot(const std::string& name, const WorkLimits& limits) override;
  [[nodiscard]] Status RestoreSnapshot(const std::string& name, const WorkLimits& limits) override;

 private:
  using Tensor = std::shared_ptr<LiveTensor>;

  // What the thread that pushes does in its turn at the tensor.
  struct Step {
    WaitingPushes pushes;
    std::vector<std::shared_ptr<Moment>> then;  // reached after it
  };
  struct Work {
    int64_t ticket = 0;
    std::shared_ptr<WaitingPush> waiting;  // of a synchronous push; null: asynchronous
    std::vector<Step> steps;               // that are complete with it
    [[nodiscard]] bool completes() const { return !steps.empty(); }
  };
  // A push of a call. What it borrows is the caller's, or its own if the caller may leave.
  struct PushUnderWay;
  struct Registration;
  using UnderWay = std::vector<std::shared_ptr<PushUnderWay>>;
  // Counts the bytes of a push whose caller has left, until it is destroyed.
  class LateBytes;
  using Moments = std::vector<std::shared_ptr<Moment>>;
  using TensorMap = std::map<uint32_t, Tensor>;
  // What waits at the end of the log, by tensor: steps of the run that come after one.
  struct RunAfter {
    uint64_t run = 0;
    int64_t step = 0;
  };
  using GivenUp = std::map<uint32_t, RunAfter>;
  using TensorMoments = std::map<uint32_t, std::shared_ptr<Moment>>;
  class AdminTurn;

  // store_folder.cc; the caller has the admin turn, or the store begins.
  // Takes the folder and opens its catalogue.
  [[nodiscard]] Status OpenFolder();
  [[nodiscard]] std::filesystem::path FilePath(int64_t number) const;
  [[nodiscard]] Status ClearLeftFiles();
  [[nodiscard]] bool IsOfThisFormat(const std::filesystem::path& checkpoint) const;
  void SetAside(const std::filesystem::path& path);
  // What is not named any more if the catalogue names these, and nothing else.
  [[nodiscard]] LeftFiles LeftBeside(const std::set<int64_t>& named) const;
  void SetNamedFiles(std::set<int64_t> named);  // the catalogue does
  [[nodiscard]] static std::set<int64_t> NamedBy(const CheckpointInfo& checkpoint,
                                                 const KeptSnapshots::List& snapshots);
  void RemoveUnusedFiles();

  // store_open.cc
  [[nodiscard]] Status LoadTensors();
  [[nodiscard]] Status LoadCheckpoint();
  [[nodiscard]] Status LoadWaiting(const LogRecord& record);
  // Sets the rows of all tensors to their beginning, and to the images in the files.
  [[nodiscard]] Status LoadRows(const std::vector<int64_t>& files, const TensorMap& tensors);
  [[nodiscard]] Status OpenLog();
  // `next_tensor`: of tensors, numbers below it were given.
  [[nodiscard]] Status Replay(const LogRecord& record, uint32_t next_tensor);

  // store_waiting.cc
  // A replay came to `push`, or to one that is not synchronous: null. Leaves out, the first time,
  // the newest steps while more waits than may; the second time what is given up. Requires
  // monitor_, as the next three.
  void LeaveOutWaiting(WaitingPush* push);
  void LeaveOutNewest();
  void LeaveOut(WaitingPush& push);
  [[nodiscard]] GivenUp Choose() const;
  // At the end of the log: chooses what is given up. Unavailable: more than that was left out.
  [[nodiscard]] Status EndReplay();
  // Whether anything was given up: then a checkpoint has to follow.
  [[nodiscard]] bool GiveUpWaiting();

  // store_memory.cc; the caller has the admin turn.
  // Adds the tensors to `made`, in their order with their rows in memory where `used` bytes leave
  // room for them, else beyond it. Adds what they take to `used`. ResourceExhausted: their sets of
  // rows have no room.
  [[nodiscard]] Status MakeTensors(const std::vector<CatalogueTensor>& tensors, int64_t* used,
                                   TensorMap* made);
  [[nodiscard]] int64_t RoomBeside(int64_t used) const;  // negative: there is less than none
  [[nodiscard]] StatusOr<std::shared_ptr<RowSpace>> OpenRowSpace(int64_t room);
  // What an earlier process left.
  [[nodiscard]] Status RemoveRowSpace();

  // store_push.cc, in this order
  // A push as far as it needs no order; or the status that ends it, here and below.
  [[nodiscard]] std::shared_ptr<PushUnderWay> Receive(const StatePush& request,
                                                      const Patience& patience) const;
  // Orders pushes from *next on and gives them to the log as one, up to one that has to wait, or
  // exceeds a segment with those before it. Returns those that are in the log now.
  [[nodiscard]] UnderWay Append(const UnderWay& all, size_t* next,
                                const WorkLimits& limits) noexcept;
  [[nodiscard]] StatusOr<PushReceipt> Finish(const std::shared_ptr<PushUnderWay>& push,
                                             const Patience& patience);
  [[nodiscard]] StatusOr<LogRecord> Prepare(const LiveTensor& tensor, const StatePush& request,
                                            std::vector<int64_t>* rows) const;
  // The checksum of values that are all finite; else the first one that is not is named. `pool`
  // shares the work; null: nobody.
  [[nodiscard]] static StatusOr<uint64_t> CheckValues(const MutableTensorSpec& spec,
                                                      const RowPush& push, ThreadPool* pool);
  // These require monitor_.
  // The push gets its LSN, or that of the first time; waits first where WaitsFor gave `waits_for`.
  [[nodiscard]] Status Admit(PushUnderWay& push, const WorkLimits& limits, const char* waits_for);
  [[nodiscard]] const char* WaitsFor() const;  // what a push has to wait for; null: nothing
  [[nodiscard]] bool LogIsFull() const;
  [[nodiscard]] Work Plan(LiveTensor& tensor, const LogRecord& record) noexcept;
  [[nodiscard]] StatusOr<Tensor> Find(const TensorRef& ref) const;
  void Applied(LiveTensor& tensor, int64_t lsn);
  void Applied(LiveTensor& tensor, const WaitingPushes& pushes);  // or given up
  void CountWaiting(WaitingPush& push, int64_t bytes);
  // Does the work, in the tensor's turn; then what was pushed is in the rows, or waits. After an
  // error of `patience` others do it.
  [[nodiscard]] Status Perform(const std::shared_ptr<PushUnderWay>& push, const Patience& patience);
  // Of a start: what the log or a checkpoint has.
  [[nodiscard]] Status PerformAgain(const Tensor& tensor, const LogRecord& record);
  // The caller of a push that is in the log does not wait for its end.
  void Leave(const std::shared_ptr<PushUnderWay>& push) noexcept;
  void CopyIfWaiting(const PushUnderWay& push);
  void PerformInTurn(const PushUnderWay& push);
  // Runs `change`; if it fails, or has no memory, the log fails and rows are unreadable until a
  // restart.
  void Guarded(size_t rows, const std::function<Status()>& change);
  // Applies none where one was left out: the rows lack the step then.
  [[nodiscard]] Status ApplyPushes(LiveTensor& tensor, const WaitingPushes& pushes,
                                   const WaitingPush* own, const PushedRows& own_rows);
  [[nodiscard]] Status ApplyStep(LiveTensor& tensor, const Step& step, const WaitingPush* own,
                                 const PushedRows& own_rows);

  // store_clients.cc; these require monitor_.
  // As Admit, of a registration: the client that leaves the table for it; 0: none.
  [[nodiscard]] StatusOr<uint64_t> AdmitClient(uint64_t client, const WorkLimits& limits);
  [[nodiscard]] ClientTable::Room RoomForClients() const;
  void LogRegistration(const std::shared_ptr<Registration>& registration) noexcept;

  // store_checkpoint.cc; the caller has the admin turn.
  [[nodiscard]] bool NextIsWhole() const;
  // Of now; null: without a name.
  [[nodiscard]] StatusOr<SnapshotInfo> WriteCheckpoint(const std::string* name,
                                                       const WorkLimits& limits);
  // All tensors are at their moment now; their images are captured.
  [[nodiscard]] Status TakeMoments(CheckpointUnderWay& own, const WorkLimits& limits);
  // Counts anew from its moments, in place of who does. Requires monitor_.
  [[nodiscard]] TensorMoments TakeCount(CheckpointUnderWay& own);
  [[nodiscard]] Status CaptureInTurn(Moment& moment, const Patience& patience);
  // Names the file, whose images `writer` may have already, or not; null: none has been begun.
  [[nodiscard]] Status WriteMoments(CheckpointUnderWay& own,
                                    std::unique_ptr<CheckpointWriter> writer,
                                    const WorkLimits& limits, SnapshotInfo* info);
  [[nodiscard]] StatusOr<int64_t> WriteFile(int64_t number, const Moments& moments,
                                            const ClientTable::Saved& clients,
                                            std::unique_ptr<CheckpointWriter> writer);
  [[nodiscard]] StatusOr<int64_t> WriteSections(const std::filesystem::path& path,
                                                const Moments& moments,
                                                const ClientTable::Saved& clients,
                                                std::unique_ptr<CheckpointWriter> writer);
  // As FailUnlessFull of a file's error; on a full disk with the bytes that the file needs.
  [[nodiscard]] Status FileFailed(const Status& status, const Moments& moments);
  [[nodiscard]] Status SwitchTo(const CheckpointInfo& next, const CatalogueSnapshot* snapshot,
                                const std::vector<CatalogueTensor>* tensors);
  // In the catalogue: the checkpoint that counts from now on, a snapshot (null: none), which is
  // *made, and the tensors instead of those that were there (null: these stay).
  [[nodiscard]] Status Name(const CheckpointInfo& next, const CatalogueSnapshot* snapshot,
                            const std::vector<CatalogueTensor>* tensors,
                            std::shared_ptr<const KeptSnapshot>* made);
  // A snapshot that is no checkpoint.
  [[nodiscard]] Status KeepAside(const CatalogueSnapshot& snapshot);
  void CheckpointIfLong();
  // These need no admin turn.
  [[nodiscard]] Status WriteImages(Moments moments, CheckpointWriter* writer) const;
  void ReachNow(Moment& moment);  // requires monitor_, as the next
  void Reach(Moment& moment, int64_t lsn);
  void Capture(Moment& moment);              // within a turn
  [[nodiscard]] bool Claim(Moment& moment);  // whether others are to capture
  [[nodiscard]] static std::string WaitingFor(const LiveTensor& tensor);
  [[nodiscard]] int64_t TakeTicket(LiveTensor& tensor);
  // It is over: pushes save no more images for it. Unless it was written, the rows since the
  // checkpoint before count on.
  void ReleaseMoments(CheckpointUnderWay& own, bool written);

  // store_step_snapshot.cc; without the admin turn.
  [[nodiscard]] StatusOr<SnapshotInfo> SnapshotOfStep(const std::string& name, int64_t step,
                                                      const WorkLimits& limits);
  // ResourceExhausted: as many wait as may.
  [[nodiscard]] Status TakePlaceToWait();
  [[nodiscard]] Status BeginSnapshotOfStep(const std::shared_ptr<CheckpointUnderWay>& own,
                                           const WorkLimits& limits);
  // Until the images of all moments are written.
  [[nodiscard]] Status AwaitStep(CheckpointUnderWay& own, const WorkLimits& limits,
                                 std::unique_ptr<CheckpointWriter>* writer);
  [[nodiscard]] Status WriteCaptured(CheckpointUnderWay& own, const Moments& captured,
                                     std::unique_ptr<CheckpointWriter>* writer);
  void CaptureInSomeTurn(const std::shared_ptr<Moment>& moment);
  // Whoever waits for its step ends with `why`, and pushes wait for it no longer.
  void EndSnapshotsOfSteps(const Status& why);
  // These require monitor_.
  // Finds the tensors that are at the step, and takes turns at them. "" if all are, else what is
  // missing.
  [[nodiscard]] StatusOr<std::string> FindReached(CheckpointUnderWay& own);
  // "" if all moments of a complete one are captured, else what that waits for.
  [[nodiscard]] static std::string NotCaptured(const CheckpointUnderWay& own);
  [[nodiscard]] StatusOr<std::shared_ptr<Moment>> MomentOf(CheckpointUnderWay& own,
                                                           const Tensor& tensor);
  // Waits for more of them; `missing` as FindReached.
  [[nodiscard]] Status WaitForStep(const CheckpointUnderWay& own, const std::string& missing,
                                   const WorkLimits& limits, int64_t until_ns);
  // That are captured, and were not taken before.
  [[nodiscard]] static Moments TakeCaptured(CheckpointUnderWay& own);
  // The push completes a step: the moments that come after it.
  [[nodiscard]] Moments ReachStep(LiveTensor& tensor, int64_t lsn);
  [[nodiscard]] bool IsUnderWay(const std::string& name) const;

  // store_snapshot.cc; the caller has the admin turn.
  // Whether there may be one more, of this name.
  [[nodiscard]] Status CheckNewSnapshot(const std::string& name) const;
  [[nodiscard]] StatusOr<std::vector<TensorMoment>> CheckFiles(
      const std::vector<int64_t>& files) const;
  [[nodiscard]] Status TensorsOf(const KeptSnapshot& snapshot, TensorMap* tensors);
  [[nodiscard]] Status SwitchToSnapshot(const KeptSnapshot& snapshot,
                                        const std::vector<TensorMoment>& then,
                                        const TensorMap& restored, const Patience& patience);

  // store.cc
  // What a write of the catalogue or of a checkpoint returned. On a full disk nothing else has
  // changed. After any other error what is on the disk is unknown:
  // the log has failed, and that is what the caller is told (Unavailable, with the reason
  // kMaybeDone).
  [[nodiscard]] Status FailUnlessFull(const Status& status);
  [[nodiscard]] Status AwaitApplied(const LiveTensor& tensor, int64_t min_lsn,
                                    const WorkLimits& limits) const;  // requires monitor_
  // Every push of the tensor up to here is in its rows. Requires monitor_, as the next.
  [[nodiscard]] int64_t AppliedLsn(const LiveTensor& tensor) const;
  // But why pushes are refused.
  [[nodiscard]] MutableTensorStats StatsOf(const LiveTensor& tensor) const;
  [[nodiscard]] std::vector<MutableTensorStats> TensorStats(const TensorRange& range) const;
  void Forget(LiveTensor& tensor);  // requires monitor_
  void NameTensors();               // makes by_name_ what tensors_ are; requires monitor_
  // ResourceExhausted: there are as many tensors of its kind as may be. Requires monitor_.
  [[nodiscard]] Status CheckRoomFor(const TensorRef& ref) const;
  [[nodiscard]] Status CheckSpec(const MutableTensorSpec& spec) const;

  // Waits for a change of what monitor_ guards, which is held. DeadlineExceeded or Cancelled: it
  // has not waited.
  [[nodiscard]] Status WaitForChange(const WorkLimits& limits, int64_t until_ns) const;

  const StateOptions options_;
  const StateGraph graph_;
  Env& env_;
  std::unique_ptr<FolderLock> folder_lock_;
  std::unique_ptr<StateCatalogue> catalogue_;
  std::unique_ptr<PushLog> log_;
  std::atomic<int> pushes_under_way_ = 0;
  std::atomic<int> waiting_snapshots_ = 0;  // of steps

  // Of the admin turn.
  CheckpointInfo checkpoint_;              // changed under monitor_, too
  std::map<int64_t, int64_t> file_bytes_;  // by number
  std::set<int64_t> named_files_;      // by the catalogue: those of the checkpoint and of snapshots
  std::set<int64_t> unused_;           // that no name leads to, until they are removed
  std::weak_ptr<RowSpace> row_space_;  // of the tensors whose rows are beyond memory
  int64_t row_cache_bytes_ = 0;        // of it, while it is there

  const std::unique_ptr<Monitor> monitor_;  // of all below
  TensorMap tensors_;                       // by number; changed in the admin turn only
  std::map<TensorRef, Tensor> by_name_;     // the same
  KeptSnapshots snapshots_;                 // changed in the admin turn only
  ClientTable clients_;
  int64_t last_lsn_ = 0;
  const std::shared_ptr<WaitingBytes> waiting_;
  int64_t waiting_bytes_ = 0;        // of it
  std::optional<GivenUp> left_out_;  // of a start that begins again
  GivenUp given_up_;                 // by a start
  bool rows_lack_steps_ = false;     // that were left out, and were complete
  bool begins_again_ = false;
  int64_t late_bytes_ = 0;  // of pushes whose callers have left
  int64_t memory_bytes_ = 0;
  bool admin_busy_ = false;
  int64_t next_file_ = 1;
  // Snapshots of steps; and whose moments count anew, one of them or what the admin turn makes.
  std::vector<std::shared_ptr<CheckpointUnderWay>> under_way_;
  CheckpointUnderWay* counts_ = nullptr;  // null: nobody's
  bool restoring_ = false;
  Status unreadable_;         // why rows cannot be read
  int64_t taken_pushes_ = 0;  // since it was opened
  int64_t taken_rows_ = 0;
  int64_t checkpoints_ = 0;
  int64_t checkpointed_ns_ = 0;  // when the last was made, or the store was opened
  double recovery_seconds_ = 0;
  std::map<uint32_t, int64_t> applied_before_;  // replay: a tensor's rows show this moment

  std::unique_ptr<BackgroundWork> checkpointer_;  // last: its thread uses all above
};

}  // namespace halograph

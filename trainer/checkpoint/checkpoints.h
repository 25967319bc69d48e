// The checkpoints of a run: taken while it trains, and read when it goes on (docs/checkpoints.md).
//
// Rank 0 has the folder and a thread that writes behind training, which stands still for a copy of
// what a step changes. Where inputs are learnt, the store is asked for a snapshot of the moment
// after the step before that is pushed, and writes it behind training, too. The other ranks take
// part where something of theirs is kept (buffers of the model, pushes of learnt inputs), and where
// weights are given out at the beginning.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/stopwatch.h"
#include "common/storage/json.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/files/checkpoint_thread.h"
#include "trainer/checkpoint/snapshots/run_snapshots.h"
#include "trainer/checkpoint/snapshots/snapshot_behind.h"
#include "trainer/training/session.h"
#include "trainer/training/training_loop.h"

namespace halograph {

// What a run is to its checkpoints. Requires an open task.
[[nodiscard]] RunIdentity IdentityOf(const Session& session);

// For one thread, the rank's that trains; its writer has a thread of its own. It refers to the
// session, whose model, task, stores, learnt inputs and communicator must outlive it, and `log` is
// called until it is destroyed. It must outlive a loop that it is the keeper of.
class Checkpoints final : public MomentKeeper {
 public:
  // Takes a line for the log; on rank 0 only.
  using LogLine = std::function<Status(const Json& line)>;

  // Whether a run goes on from checkpoints that are there, whole or not: then learnt inputs are
  // left as they are until Open sets them back. For rank 0.
  //   FailedPrecondition  the folder has checkpoints, and nobody said --resume; or as
  //                       CheckIsNoCheckpoint
  [[nodiscard]] static StatusOr<bool> GoesOn(const CheckpointOptions& options);

  // What can be known before learnt inputs are begun, so that a run that is refused changes nothing
  // in the store. `learnt`: the run's. For rank 0, with the task open.
  //   FailedPrecondition  the newest checkpoint is of another run (CheckSameRun), or as CheckAlone
  [[nodiscard]] static Status CheckStart(const Session& session,
                                         const std::vector<LearntType>& learnt);

  // Every rank calls it with the session's model made; the ranks meet. With options.resume, gives
  // model and task the weights of the newest whole checkpoint, if there is one, and sets learnt
  // inputs back to it.
  //   FailedPrecondition  as GoesOn and RunSnapshots::Open; or the checkpoints are of another run
  //                       (CheckSameRun)
  //   DataLoss, NotFound  checkpoints are there, and none is whole with its snapshot
  //   else                as CheckpointFolder::Open, RunSnapshots and Communicator
  [[nodiscard]] static StatusOr<std::unique_ptr<Checkpoints>> Open(Session& session, LogLine log);
  ~Checkpoints() override;

  // What the loop is to begin with.
  [[nodiscard]] const TrainingStart& start() const { return start_; }
  // Gives the loop's optimizer the state of the checkpoint; before the first step. Errors as
  // Optimizer::RestoreTensors.
  [[nodiscard]] Status RestoreOptimizer(Optimizer& optimizer) const;

  [[nodiscard]] bool Wants(int64_t steps_done) override;
  // Where inputs are learnt, waits until it is durable: they change with the first step, and a run
  // that is killed before its next checkpoint begins here again.
  [[nodiscard]] Status KeepFirst(const TrainingMoment& moment) override;
  [[nodiscard]] Status Keep(const TrainingMoment& moment) override;
  // Waits until it is durable.
  [[nodiscard]] Status KeepLast(const TrainingMoment& moment) override;
  // In a snapshot that checkpoints name from then on. If it is refused there is a warning.
  [[nodiscard]] StatusOr<bool> KeepBestInputs(int64_t steps_done) override;
  // If the snapshot is gone there is a warning.
  [[nodiscard]] StatusOr<bool> PutBackBestInputs() override;

  // Waits until what was taken is durable, or has failed: on this rank alone, so that others must
  // not stand in a collective meanwhile.
  void Wait();
  // Why the last checkpoint was not written, if it was not; on rank 0.
  [[nodiscard]] const Status& failure() const { return failure_; }
  // For an error that ends the run, on rank 0: which checkpoint to go on from. First tells the
  // other ranks of the error, so that they do not wait for rank 0's disk. On other ranks nothing.
  [[nodiscard]] std::string Advice(const Status& error);

 private:
  using Tensors = std::map<std::string, torch::Tensor>;
  // Two of the same step differ if an evaluation came between them.
  struct KeptMoment {
    CheckpointPlace place;
    int64_t evaluated = -1;  // as TrainResult's

    bool operator==(const KeptMoment&) const = default;
  };

  Checkpoints(Session& session, LogLine log);
  [[nodiscard]] Status OpenFolder();
  // Of the learnt inputs; on rank 0. DataLoss: the checkpoint names no snapshot.
  [[nodiscard]] Status GoBackTo(const CheckpointManifest& manifest, const CancelToken& cancel);
  // Rank 0's checkpoint on all ranks; nothing where there is none.
  [[nodiscard]] Status Resume();
  [[nodiscard]] StatusOr<Json> ReadNewest(std::map<std::string, Tensors>* files,
                                          const CancelToken& cancel);
  // The same, for which all ranks wait as long as it takes; on other ranks nothing.
  [[nodiscard]] StatusOr<Json> ReadWhileOthersWait(std::map<std::string, Tensors>* files);
  [[nodiscard]] Status Begin(const Json& header, std::map<std::string, Tensors> files);
  // Buffers of the model as the ranks have them, [ranks, ...] each, by name: on rank 0.
  [[nodiscard]] StatusOr<Tensors> BuffersOfRanks();
  // What the epoch under way has come to on the ranks, [ranks, ...] each, by name: on rank 0.
  // Nothing if none is under way.
  [[nodiscard]] StatusOr<Tensors> UnderWayOfRanks(const TrainingMoment& moment);
  // Hands a copy of the moment to the writer.
  [[nodiscard]] Status Write(const TrainingMoment& moment);
  // When the next one after this is due.
  void PlanNext(int64_t steps_done);
  // All ranks wait, for as long as it takes, until what was taken is durable, or has failed.
  [[nodiscard]] Status AwaitWriter();
  // A snapshot of the learnt inputs as they are now, for which training waits; on rank 0. Requires
  // that nothing is being written: that may wait for the snapshot that was asked for, which this
  // gives up, and would then delete this one, which no checkpoint names yet.
  [[nodiscard]] StatusOr<CheckpointSnapshot> KeepLearnt(int64_t steps_done);
  // Names the snapshot of the moment in the image: the one that was asked for, or else one taken
  // now. Errors as RunSnapshots::Take.
  [[nodiscard]] Status AddLearnt(int64_t steps_done, CheckpointImage* image);
  // Rank 0's answer on all ranks.
  [[nodiscard]] StatusOr<bool> Agree(bool answer, const char* what);
  // Where `last`, the newest, is of the moment before the step that failed.
  [[nodiscard]] std::string AdviceOnStepBefore(const std::filesystem::path& last) const;
  void Report();  // what became of those written
  void ReportFailure(int64_t steps_done, const Status& status);
  void Log(const Json& line);

  Session& session_;
  const CheckpointOptions& options_;
  const LogLine log_;
  const std::vector<NamedTensor> parameters_, buffers_;
  TrainingStart start_;
  Tensors optimizer_state_;  // as Optimizer::StateTensors, until the loop has it
  std::optional<KeptMoment> kept_;
  std::optional<CheckpointSnapshot> best_inputs_;  // rank 0's
  std::optional<std::filesystem::path> resumed_from_;
  Status failure_;
  int64_t next_due_ = 0;   // in steps done
  int64_t asked_for_ = 0;  // Wants was: the step under way is the last of so many
  // The last snapshot was asked for too late: a checkpoint is due, for which training waits.
  bool overdue_ = false;
  Stopwatch since_last_;
  std::unique_ptr<RunSnapshots> snapshots_;   // rank 0's; null: nothing is learnt
  std::optional<SnapshotBehind> behind_;      // of them
  std::unique_ptr<CheckpointThread> writer_;  // rank 0's
};

}  // namespace halograph

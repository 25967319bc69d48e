// The checkpoints of a run: taken while it trains, and read when it goes on (docs/checkpoints.md).
//
// Rank 0 has the folder and a thread that writes behind training, which stands still for a copy of
// what a step changes. The other ranks take part where something of theirs is kept (buffers of the
// model), and where weights are given out at the beginning.
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
#include "trainer/training/session.h"
#include "trainer/training/training_loop.h"

namespace halograph {

// What a run is to its checkpoints. Requires an open task.
[[nodiscard]] RunIdentity IdentityOf(const Session& session);

// For one thread, but for its writer.
class Checkpoints final : public MomentKeeper {
 public:
  // Takes a line for the log; on rank 0 only.
  using Log = std::function<Status(const Json& line)>;

  // Every rank calls it with the session's model made; the ranks meet. With options.resume, gives
  // model and task the weights of the newest whole checkpoint, if there is one.
  //   FailedPrecondition  the folder has checkpoints and nobody said --resume; or they are of
  //                       another run (CheckSameRun); or inputs are learnt, which are not kept
  //   DataLoss, NotFound  checkpoints are there and none is whole
  //   else                as CheckpointFolder::Open and Communicator
  [[nodiscard]] static StatusOr<std::unique_ptr<Checkpoints>> Open(Session& session, Log log);
  ~Checkpoints() override;

  // What the loop is to begin with.
  [[nodiscard]] const TrainingStart& start() const { return start_; }
  // Gives the loop's optimizer the state of the checkpoint; before the first step. Errors as
  // Optimizer::RestoreTensors.
  [[nodiscard]] Status RestoreOptimizer(Optimizer& optimizer) const;

  [[nodiscard]] bool Wants(int64_t steps_done) override;
  [[nodiscard]] Status Keep(const TrainingMoment& moment) override;
  // Waits until it is durable.
  [[nodiscard]] Status KeepLast(const TrainingMoment& moment) override;

  // Waits until what was taken is durable, or has failed.
  void Wait();
  // For an error that ends the run, on rank 0: which checkpoint to go on from.
  [[nodiscard]] std::string Advice();

 private:
  using Tensors = std::map<std::string, torch::Tensor>;

  Checkpoints(Session& session, Log log);
  [[nodiscard]] Status OpenFolder();
  // Rank 0's checkpoint on all ranks; nothing where there is none.
  [[nodiscard]] Status Resume();
  [[nodiscard]] StatusOr<Json> ReadNewest(std::map<std::string, Tensors>* files);
  [[nodiscard]] Status Begin(const Json& header, std::map<std::string, Tensors> files);
  // Buffers of the model as the ranks have them, [ranks, ...] each, by name: on rank 0.
  [[nodiscard]] StatusOr<Tensors> BuffersOfRanks();
  // Hands a copy of the moment to the writer.
  [[nodiscard]] Status Write(const TrainingMoment& moment);
  void Report();  // what became of those written

  Session& session_;
  const CheckpointOptions& options_;
  const Log log_;
  const std::vector<NamedTensor> parameters_, buffers_;
  TrainingStart start_;
  Tensors optimizer_state_;  // as Optimizer::StateTensors, until the loop has it
  std::optional<CheckpointPlace> kept_;
  std::optional<std::filesystem::path> resumed_from_;
  int64_t next_due_ = 0;  // in steps done
  Stopwatch since_last_;
  std::unique_ptr<CheckpointThread> writer_;  // rank 0's
};

}  // namespace halograph

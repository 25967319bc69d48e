// One server of a simulated run: a machine, and a process on it that opens the store of one
// partition and answers calls. When the process ends, by a crash or for a restart, its history is
// judged by what the next one finds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/state/state_store.h"
#include "tests/simulation/sim_history.h"
#include "tests/simulation/sim_world.h"

namespace halograph::sim {

class SimServer {
 public:
  SimServer(World* world, int index, uint64_t seed);

  // The body of its thread, of process() of the scheduler: opens, serves, opens again, until the
  // run is over.
  void Run();
  // An operator ends the process, after the calls in progress, and starts it again.
  void Restart() { restart_ = true; }
  // How often it has begun to serve.
  [[nodiscard]] int64_t lives() const { return lives_; }
  // The checks of the end were made.
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] int process() const { return 1 + index_; }
  SimMachine& machine() { return machine_; }
  [[nodiscard]] const ServerHistory& history() const { return history_; }

 private:
  bool Open();  // false: it did not open; try again
  // Registers the clients, before any of them pushes. False: as Open.
  [[nodiscard]] bool RegisterClients();
  void JudgeLife();  // of the life before, in the store that has just been opened
  void Serve();
  void Work();          // a thread that answers calls
  void Administrate();  // a thread that makes checkpoints and snapshots
  void PauseOperator();
  [[nodiscard]] int64_t ShownByClose(const StateStats& stats) const;
  bool Close();
  void ProbeBitRot();
  // A start of the disk as it is, of a process of its own.
  [[nodiscard]] StatusOr<std::unique_ptr<StateStore>> OpenAlone();
  // The same of a disk with a flipped bit, which was `whole` before.
  [[nodiscard]] StatusOr<std::unique_ptr<StateStore>> OpenFlipped(const std::string& path,
                                                                  const SimDisk& whole);
  void JudgeFlipped(const std::string& path, StatusOr<std::unique_ptr<StateStore>> store);
  // After a time without faults; all may have healed meanwhile, for good.
  void CheckTheEnd();

  [[nodiscard]] std::shared_ptr<Call> AnswerTo(const Call& call) const;
  [[nodiscard]] StatePush RequestOf(const PushRecord& push) const;
  void AnswerPushes(const std::vector<std::shared_ptr<const Call>>& calls);
  void AnswerPush(const Call& call, const StatusOr<PushReceipt>& receipt, Call* answer);
  void AnswerPull(const Call& call, Call* answer);
  // One registered client more, though the table is full and none may leave.
  void RegisterOneMore();
  // Another push with the id and number of one that was acknowledged.
  void PushAsTwin();
  void MakeSnapshot();
  void KeepSteps();  // a thread that makes snapshots of steps
  void DeleteSnapshot();
  [[nodiscard]] bool excused() const;  // something failed since the process began
  [[nodiscard]] bool ends() const;     // the threads of the process shall end
  [[nodiscard]] WorkLimits Within(int64_t ns) const;
  [[nodiscard]] StatusOr<StoreRows> AllRows(StateStore& store) const;
  [[nodiscard]] StateOptions Options() const;
  [[nodiscard]] int64_t MemoryBytes() const;
  [[nodiscard]] StateGraph Graph() const;

  World* world_;
  int index_;
  Random random_;
  SimMachine machine_;
  ServerHistory history_;
  std::unique_ptr<Env> env_;
  std::unique_ptr<StateStore> store_;
  std::vector<std::unique_ptr<RunningThread>> threads_;
  int64_t lives_ = 0;
  bool done_ = false;
  bool restart_ = false;
  bool stopping_ = false;
  std::atomic<int> waiting_pulls_ = 0;
  bool makes_room_ = false;       // the operator whose checkpoint or snapshot failed
  bool step_is_awaited_ = false;  // and the operator does not pause for long
  int64_t losses_ = 0;
  // Of the life that ended.
  EndOfLife end_;
  int64_t faults_before_ = 0;
  int next_snapshot_ = 0;
  int64_t shown_lsn_ = 0;  // a start is to notice if a record up to here is missing
};

// The tensors of the store of one server.
[[nodiscard]] std::vector<ModelTensor> TensorsOf(const World& world, int server);

}  // namespace halograph::sim

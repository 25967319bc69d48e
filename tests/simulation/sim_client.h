// A client of a simulated run, which is one rank: it pushes with sequence numbers, sends again
// until it is answered, and pulls what it has pushed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/simulation/sim_world.h"

namespace halograph::sim {

class SimClient {
 public:
  SimClient(World* world, int index, uint64_t seed);

  // Its id at a server.
  [[nodiscard]] uint64_t id() const { return client_id_; }

  // The body of its thread: all steps and batches, then it answers for lost pushes until the run is
  // over.
  void Run();
  [[nodiscard]] bool finished() const { return finished_; }
  // All that it pushed is acknowledged.
  [[nodiscard]] bool settled() const;
  // The server lost acknowledged pushes: LSNs that it gave mean nothing any more.
  void ForgetLsns(int server);

 private:
  struct Pending {
    std::shared_ptr<Call> call;
    bool done = false;
    int64_t next_try_ns = 0;
  };
  struct OfServer {
    uint64_t next_sequence = 1;
    std::vector<int64_t> last_lsn;  // of the pushes that were answered, by tensor
    int64_t losses = 0;
    std::vector<PushRecord*> pushes;  // all, in the order of their numbers
  };

  void Step(int64_t step);
  void Batch();
  void PullSome();
  PushRecord* NewPush(int server, int tensor);
  void AddPull(int server, int tensor);
  // Until all pushes are acknowledged and all pulls answered, or the run is over.
  void Settle();
  void SendDue();
  void Receive(const Call& answer);
  [[nodiscard]] bool MayGo(const PushRecord& push) const;
  // Up to here all its pushes to the server are answered.
  [[nodiscard]] static uint64_t AnsweredBefore(const OfServer& server, const PushRecord& push);
  [[nodiscard]] int64_t RetryDelayNs();
  [[nodiscard]] bool AllDone() const;

  World* world_;
  int index_;
  Random random_;
  uint64_t client_id_;
  uint64_t next_number_ = 1;
  std::vector<OfServer> servers_;
  std::vector<Pending> pulls_;
  bool finished_ = false;
};

}  // namespace halograph::sim

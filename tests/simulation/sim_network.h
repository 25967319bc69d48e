// The network between clients and servers: it delays, drops, doubles and reorders messages, and
// parts of it can be cut off for a time. Used by the threads of one SimScheduler.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/simulation/sim_model.h"
#include "tests/simulation/sim_random.h"
#include "tests/simulation/sim_scheduler.h"

namespace halograph::sim {

// What a client asks, and what it is answered.
struct Call {
  int client = 0;
  int server = 0;
  uint64_t number = 0;         // of the client
  PushRecord* push = nullptr;  // null: a pull
  int tensor = 0;              // of a pull
  std::vector<int64_t> positions;
  int64_t min_lsn = 0;
  int64_t losses = 0;  // of the server, when the client asked: LSNs of before mean nothing after

  bool is_answer = false;
  Status status;
  PushReceipt receipt;
  std::vector<std::byte> rows;
};

struct NetworkChances {
  double drop = 0;
  double twice = 0;
  int64_t longest_delay_ns = kMillisecond;
};

class SimNetwork {
 public:
  // Servers are ends 0, 1, ..., clients those after them.
  SimNetwork(SimScheduler* scheduler, uint64_t seed, int num_ends);

  void Send(int from, int to, const std::shared_ptr<const Call>& call);
  // The next message that has arrived at `end`; null: none has.
  [[nodiscard]] std::shared_ptr<const Call> Take(int end);
  [[nodiscard]] bool HasArrived(int end) const;
  // When the next one arrives; kForever: none is on the way.
  [[nodiscard]] int64_t NextArrivalNs(int end) const;

  NetworkChances& chances() { return chances_; }
  // Nothing passes between the two until then.
  void Cut(int a, int b, int64_t until_ns);
  void Heal();
  // Loses what is on the way from and to an end.
  void Forget(int end);
  [[nodiscard]] int64_t num_dropped() const { return num_dropped_; }
  [[nodiscard]] int64_t num_doubled() const { return num_doubled_; }

 private:
  struct Message {
    int from = 0;
    std::shared_ptr<const Call> call;
  };

  SimScheduler* scheduler_;
  Random random_;
  NetworkChances chances_;
  std::vector<std::multimap<int64_t, Message>> arriving_;  // by end, then by time
  std::map<std::pair<int, int>, int64_t> cut_until_ns_;    // the lower end first
  int64_t num_dropped_ = 0;
  int64_t num_doubled_ = 0;
};

}  // namespace halograph::sim

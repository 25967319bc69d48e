// One simulated run: servers, each with its machine and a StateStore; clients that push, pull and
// do synchronous steps; a network between them; and trouble. First everything may go wrong, then
// all heals and every client must finish in bounded time. What a run does follows from its seed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/graph/partition_book.h"
#include "common/state/state_store.h"
#include "tests/simulation/sim_history.h"
#include "tests/simulation/sim_machine.h"
#include "tests/simulation/sim_model.h"
#include "tests/simulation/sim_network.h"
#include "tests/simulation/sim_random.h"
#include "tests/simulation/sim_scheduler.h"

namespace halograph::sim {

// What a run consists of; all of it follows from the seed.
struct Plan {
  uint64_t seed = 0;
  int num_servers = 1;
  int num_clients = 1;
  int64_t num_steps = 0;  // synchronous ones, of every client
  bool ahead = false;     // ranks may push a step before others have pushed the one before
  int num_batches = 0;    // of asynchronous pushes, of every client
  int64_t rows = 0;       // of each tensor, over all servers
  SyncLevel sync = SyncLevel::kInterval;
  int64_t sync_interval_ns = 0;
  int64_t segment_bytes = 0;
  int64_t log_bytes = 0;
  int64_t max_image_bytes = 0;
  size_t in_memory = 0;     // the first tensors whose rows have room there
  bool registered = false;  // the ids of clients, of which drawn ones would be forgotten soon
  bool age_counts = false;  // registered clients never leave for their age; else for few pushes
  bool power_losses = false;
  bool disk_faults = false;
  bool bit_rot = false;
  NetworkChances network;
  int num_troubles = 0;
  double failing_syncs = 0.05;    // of a disk that has faults
  int64_t operator_pause_ns = 0;  // at most, between two works of an operator
  std::vector<MutableTensorSpec> tensors;
  int step_tensors = 1;  // the first ones, which take synchronous pushes; the others do not
};
[[nodiscard]] Plan MakePlan(uint64_t seed);

// What a run did, to see that it tests something.
struct RunStatistics {
  uint64_t trace = 0;
  int64_t calls = 0;
  int64_t pushes = 0;
  int64_t pulls = 0;
  int64_t crashes = 0;
  int64_t power_losses = 0;
  int64_t crashes_in_recovery = 0;
  int64_t restarts = 0;
  int64_t disk_faults = 0;
  int64_t flipped_bits = 0;
  int64_t refused_damage = 0;  // of them
  int64_t messages_dropped = 0;
  int64_t messages_doubled = 0;
  int64_t checkpoints = 0;
  int64_t snapshots = 0;
  int64_t step_snapshots = 0;  // of them
  int64_t twins = 0;           // pushes with the id and number of another one, which were refused
  int64_t lost = 0;            // acknowledged pushes that power losses took, as the level allows
  double simulated_seconds = 0;
};

// Runs it. "" or what went wrong, with the seed.
[[nodiscard]] std::string RunPlan(const Plan& plan, RunStatistics* statistics);

class SimServer;
class SimClient;

// What servers and clients of a run share.
struct World {
  explicit World(const Plan& plan);
  ~World();

  // Notes the first thing that is wrong; the run ends soon after.
  void Fail(const std::string& what);
  [[nodiscard]] bool failed() const { return !failure.empty(); }
  [[nodiscard]] int EndOfClient(int client) const { return plan.num_servers + client; }
  // Global ids of a tensor that a server owns.
  [[nodiscard]] IdRange IdsOf(int server) const;

  const Plan plan;
  SimScheduler scheduler;
  Random random;
  SimNetwork network;
  Schema schema;
  PartitionBook book;
  std::vector<int64_t> original_ids;
  std::deque<PushRecord> pushes;
  std::vector<std::unique_ptr<SimServer>> servers;
  std::vector<std::unique_ptr<SimClient>> clients;
  bool healed = false;     // nothing goes wrong any more
  bool finishing = false;  // servers open once more, check the end, and end
  bool over = false;       // servers and clients shall end
  std::string failure;
  RunStatistics statistics;
};

}  // namespace halograph::sim

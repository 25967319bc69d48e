// One thread's samplers over the benchmark's graph, and what their runs cost.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/thread_pool.h"
#include "tests/bench/sampling/rivals.h"

namespace halograph {

enum Variant : int {
  kFused,
  kFusedAlone,  // on one thread, whatever the configuration says
  kBaseline,
  kTuned,
  kReplay,
  kReplayPacked,
  kFusedSplit,
  kFusedEdgeIds,    // with the ids of all edges
  kFusedExcluding,  // without an edge of each seed and its reverse, as for link prediction
  kVariants
};
inline constexpr std::array<const char*, kVariants> kVariantNames = {
    "fused",         "fused_alone", "two_step_baseline", "two_step_tuned", "replay",
    "replay_packed", "fused_split", "fused_edge_ids",    "fused_excluding"};

struct Config {
  std::vector<int32_t> fanouts;
  int64_t batch = 1024;
  int threads = 1;  // each with minibatches of its own
};

struct Cost {
  double cpu = 0;   // seconds, of all threads
  double wall = 0;  // seconds, of the slowest thread
  int64_t edges = 0;
  int64_t unique_nodes = 0;  // of all minibatches

  [[nodiscard]] double ns() const { return 1e9 * cpu / static_cast<double>(edges); }
  [[nodiscard]] double rate() const { return static_cast<double>(edges) / wall; }
};

class Worker {
 public:
  // `split`: the threads that one minibatch is split over; 1: never.
  Worker(const RmatCsc* graph, int split, uint64_t key);

  // Minibatch `index` of this thread by one variant, measured.
  void Run(Variant variant, const Config& config, uint64_t index, Cost* cost);
  // Whether all variants sample the same number of edges and of nodes.
  [[nodiscard]] bool Agree(const Config& config, uint64_t index);

 private:
  void MakeSeeds(const Config& config, uint64_t index);
  int64_t Sample(Variant variant, const Config& config, uint64_t index);
  int64_t Fused(const FusedSampler& sampler, const Config& config, uint64_t index,
                Variant variant = kFused);
  // An edge of each seed of the last minibatch, and its reverse.
  void ChooseExcluded();

  const RmatCsc* graph_;
  uint64_t key_;
  std::unique_ptr<ThreadPool> pool_;  // null if nothing is split
  FusedSampler sampler_;
  FusedSampler split_;
  FusedWorkspace workspace_;
  std::unique_ptr<Rival> baseline_;
  std::unique_ptr<Rival> tuned_;
  Replay replay_;
  Replay replay_packed_;
  std::vector<int64_t> seeds_;
  std::vector<int64_t> excluded_sources_;
  std::vector<int64_t> excluded_destinations_;
  Minibatch minibatch_;
};

}  // namespace halograph

// What the fused sampler is measured against, on the same graph and with the same draws. Each
// returns how many edges it sampled.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/thread_pool.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/sampling/minibatch.h"
#include "tests/bench/sampling/rmat_csc.h"

namespace halograph {

class Rival {
 public:
  virtual ~Rival() = default;
  // `fanouts`: 1 to 16 each, without replacement.
  [[nodiscard]] virtual int64_t Sample(std::span<const int64_t> seeds,
                                       std::span<const int32_t> fanouts, uint64_t batch_seed) = 0;
  // Unique nodes of the last minibatch.
  [[nodiscard]] virtual int64_t unique_nodes() const = 0;
};

// (1) As common libraries do it: int64 ids and edge ids, a layer sampled to COO, ids compacted with
// a concurrent hash map, COO to CSC. Parallel over `pool`, which may be null.
[[nodiscard]] std::unique_ptr<Rival> MakeTwoStepBaseline(const RmatCsc* graph, ThreadPool* pool);

// (2) Two steps with every trick of the kernel: SIMD draws, prefetching streams, direct table, one
// list, 32-bit ids, pooled memory, no COO.
[[nodiscard]] std::unique_ptr<Rival> MakeTwoStepTuned(const RmatCsc* graph);

// (3) The kernel's own reads again, and nothing else: start and degree, index, map. `packed`: with
// start and degree in one word of an array made for it, which no file has.
class Replay {
 public:
  Replay(const RmatCsc* graph, bool packed);
  // Draws and keeps what a minibatch reads (not to be measured).
  void Record(const Minibatch& minibatch, std::span<const int32_t> fanouts, uint64_t batch_seed);
  [[nodiscard]] int64_t Run();

 private:
  struct Layer {
    std::vector<uint32_t> positions;  // of the edges, in the destination's list
    std::vector<int64_t> offsets;
  };
  template <typename Rows>
  int64_t RunOver(const Rows& rows);

  const RmatCsc* graph_;
  FusedArray<uint32_t> map_;
  FusedArray<uint64_t> packed_;  // start << 24 | degree
  std::vector<int64_t> nodes_;
  std::vector<Layer> layers_;
  uint64_t sum_ = 0;  // so that no read is dropped
};

}  // namespace halograph

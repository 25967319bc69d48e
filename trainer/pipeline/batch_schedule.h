// The order in which a rank goes through its seeds: a Fisher-Yates shuffle an epoch, from a
// counter-based stream, so that it depends on (seed, epoch, rank) alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/base/mutex.h"

namespace halograph {

// Streams of the trainer beside the batch seeds of common/sampling/request.h, whose purposes they
// continue: key(key(key(mix(seed), stream), epoch), rank). Whatever is drawn depends on keys alone,
// never on what was drawn before: a run can begin at any epoch and step.
enum class TrainerStream : uint64_t {
  kShuffle = 16,
  kDropout = 17,  // and all else that a model draws in a step
  kInitialWeights = 18,
  kTask = 19,  // what a task draws for a minibatch (SeedSource::Collect)
  kLearntInputs = 20,
  kFeatureScales = 21,  // which nodes stand for a type that nothing is trained on
  kWalkChances = 22,    // subgraphs that chances are counted in
};
[[nodiscard]] uint64_t TrainerKey(uint64_t seed, TrainerStream stream, uint64_t epoch,
                                  uint64_t rank);
// Of one step of one rank: key(TrainerKey, step).
[[nodiscard]] uint64_t StepKey(uint64_t seed, TrainerStream stream, uint64_t epoch, uint64_t step,
                               uint64_t rank);

// A permutation of [0, count).
[[nodiscard]] std::vector<int64_t> ShuffledPositions(int64_t count, uint64_t key);

// The shuffled orders of the epochs that are being prepared. Thread-safe.
class EpochOrders {
 public:
  // `count`: seeds of the rank. `epochs_kept`: how many orders are held at most; an older one is
  // computed again when asked for.
  EpochOrders(int64_t count, uint64_t seed, int rank, size_t epochs_kept);

  // What is returned stays valid for as long as it is held.
  [[nodiscard]] std::shared_ptr<const std::vector<int64_t>> Of(int64_t epoch);

 private:
  const int64_t count_;
  const uint64_t seed_;
  const int rank_;
  const size_t epochs_kept_;
  Mutex mutex_;
  std::map<int64_t, std::shared_ptr<const std::vector<int64_t>>> orders_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph

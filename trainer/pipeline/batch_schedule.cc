#include "trainer/pipeline/batch_schedule.h"

#include <numeric>
#include <utility>

#include "common/base/rng.h"

namespace halograph {

uint64_t TrainerKey(uint64_t seed, TrainerStream stream, uint64_t epoch, uint64_t rank) {
  return SubKey(SubKey(SubKey(Mix(seed), static_cast<uint64_t>(stream)), epoch), rank);
}

uint64_t StepKey(uint64_t seed, TrainerStream stream, uint64_t epoch, uint64_t step,
                 uint64_t rank) {
  return SubKey(TrainerKey(seed, stream, epoch, rank), step);
}

std::vector<int64_t> ShuffledPositions(int64_t count, uint64_t key) {
  std::vector<int64_t> positions(count);
  std::iota(positions.begin(), positions.end(), int64_t{0});
  CounterRng rng(key);
  for (int64_t i = count - 1; i > 0; --i) {
    std::swap(positions[i], positions[rng.NextBounded(static_cast<uint64_t>(i) + 1)]);
  }
  return positions;
}

EpochOrders::EpochOrders(int64_t count, uint64_t seed, int rank, size_t epochs_kept)
    : count_(count), seed_(seed), rank_(rank), epochs_kept_(epochs_kept) {}

std::shared_ptr<const std::vector<int64_t>> EpochOrders::Of(int64_t epoch) {
  const MutexLock lock(mutex_);
  auto& order = orders_[epoch];
  if (order == nullptr) {
    order = std::make_shared<const std::vector<int64_t>>(ShuffledPositions(
        count_, TrainerKey(seed_, TrainerStream::kShuffle, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(rank_))));
  }
  auto result = order;
  while (orders_.size() > epochs_kept_) orders_.erase(orders_.begin());
  return result;
}

}  // namespace halograph

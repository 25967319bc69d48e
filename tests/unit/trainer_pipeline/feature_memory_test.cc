// Memory of features: what comes back is used again, and no more is kept than was ever needed.
#include "trainer/pipeline/feature_memory.h"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace halograph {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

int64_t Held() {
  const MemoryUsage usage = GetFeatureMemoryUsage();
  return usage.in_use_bytes + usage.kept_bytes;
}

TEST(FeatureMemoryTest, TheNextMinibatchGetsTheBlockOfTheLast) {
  void* const other = TakeFeatureMemory(5 * kMiB);  // in use, so that the pool keeps
  void* const first = TakeFeatureMemory(3 * kMiB);
  GiveFeatureMemory(first);
  EXPECT_GE(GetFeatureMemoryUsage().kept_bytes, static_cast<int64_t>(3 * kMiB));
  void* const second = TakeFeatureMemory(3 * kMiB - 100'000);
  EXPECT_EQ(second, first);
  GiveFeatureMemory(second);
  GiveFeatureMemory(other);
}

TEST(FeatureMemoryTest, NothingIsKeptOnceNothingIsInUse) {
  std::vector<void*> blocks;
  for (size_t i = 1; i <= 6; ++i) blocks.push_back(TakeFeatureMemory(i * kMiB));
  for (void* block : blocks) GiveFeatureMemory(block);
  EXPECT_EQ(Held(), 0);
}

TEST(FeatureMemoryTest, GrowingMinibatchesDoNotPileUp) {
  void* const other = TakeFeatureMemory(kMiB);
  for (size_t i = 1; i <= 64; ++i) GiveFeatureMemory(TakeFeatureMemory(i * kMiB));
  EXPECT_LE(Held(), static_cast<int64_t>((64 + 8 + 2) * kMiB));
  GiveFeatureMemory(other);
}

TEST(FeatureMemoryTest, ASmallMatrixDoesNotTakeALargeBlock) {
  void* const other = TakeFeatureMemory(16 * kMiB);
  void* const large = TakeFeatureMemory(16 * kMiB);
  GiveFeatureMemory(large);
  void* const small = TakeFeatureMemory(kMiB);
  EXPECT_NE(small, large);
  GiveFeatureMemory(small);
  GiveFeatureMemory(other);
}

TEST(FeatureMemoryTest, IsAlignedAndWritableAtEverySize) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{65'000}, size_t{65'536}, 2 * kMiB - 64,
                             2 * kMiB, 2 * kMiB + 1}) {
    void* const data = TakeFeatureMemory(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0U) << bytes;
    std::memset(data, 1, bytes);
    GiveFeatureMemory(data);
  }
  GiveFeatureMemory(nullptr);
}

TEST(FeatureMemoryTest, ThreadsGiveBackWhatOthersTook) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (size_t i = 0; i < 200; ++i) {
        void* const data = TakeFeatureMemory(100'000 + 1000 * i);
        std::memset(data, 7, 100'000);
        std::thread([data] { GiveFeatureMemory(data); }).join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Held(), 0);
}

}  // namespace
}  // namespace halograph

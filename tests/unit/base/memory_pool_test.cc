// What comes back is used again, and no more is kept than was needed of late.
#include "common/base/memory_pool.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "common/base/sanitizers.h"

namespace halograph {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

int64_t Held(const MemoryPool& pool) {
  const MemoryUsage usage = pool.usage();
  return usage.in_use_bytes + usage.kept_bytes;
}

int64_t FaultsOfThisThread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// Sizes as a step of training has them: some live to its end, others come and go, and all differ a
// little from step to step.
void RunStep(MemoryPool& pool, size_t step) {
  std::vector<void*> to_the_end;
  for (const size_t mib : {15, 19, 6, 3}) {
    const size_t bytes = mib * kMiB - 10'000 * (step % 7);
    void* const kept = pool.Take(bytes);
    std::memset(kept, 1, bytes);
    to_the_end.push_back(kept);
    void* const passing = pool.Take(bytes / 3);
    std::memset(passing, 1, bytes / 3);
    pool.Give(passing);
  }
  for (void* block : to_the_end) pool.Give(block);
}

TEST(MemoryPoolTest, StepsThatRepeatTakeNothingFreshAfterTheThird) {
  MemoryPool pool("tests", 0.5);
  void* const weights = pool.Take(kMiB);
  for (size_t step = 0; step < 3; ++step) RunStep(pool, step);
  const int64_t fresh = pool.usage().fresh_blocks;
  const int64_t faults = FaultsOfThisThread();
  for (size_t step = 3; step < 40; ++step) RunStep(pool, step);
  EXPECT_EQ(pool.usage().fresh_blocks, fresh);
  // Forty-three megabytes a step; a few are this test's own, and tables of a sanitizer fault too.
  if (!kSanitizerAllocator) {
    EXPECT_LT(FaultsOfThisThread() - faults, 37);
  }
  pool.Give(weights);
}

TEST(MemoryPoolTest, NothingIsKeptOnceNothingIsInUse) {
  MemoryPool pool("tests");
  RunStep(pool, 0);
  EXPECT_EQ(Held(pool), 0);
}

TEST(MemoryPoolTest, KeepsNoMoreThanWasInUseAtOnceAndTheSpare) {
  for (const double spare : {0.0, 0.5}) {
    MemoryPool pool("tests", spare);
    void* const other = pool.Take(kMiB);
    int64_t most = 0;
    for (size_t i = 1; i <= 64; ++i) {
      void* const block = pool.Take(i * kMiB);
      most = std::max(most, pool.usage().in_use_bytes);
      pool.Give(block);
      EXPECT_LE(Held(pool), static_cast<int64_t>(static_cast<double>(most) * (1 + spare)));
    }
    pool.Give(other);
    EXPECT_EQ(Held(pool), 0);
  }
}

TEST(MemoryPoolTest, WhatWasNeededLongAgoIsGivenBack) {
  MemoryPool pool("tests");
  void* const other = pool.Take(kMiB);
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(pool.Take(16 * kMiB));
  for (void* block : blocks) pool.Give(block);
  EXPECT_GE(Held(pool), static_cast<int64_t>(128 * kMiB));
  for (int i = 0; i < 2 * 4096; ++i) pool.Give(pool.Take(kMiB));
  EXPECT_LE(Held(pool), static_cast<int64_t>(4 * kMiB));
  pool.Give(other);
}

TEST(MemoryPoolTest, ThreadsTakeAndGiveAtOnce) {
  MemoryPool pool("tests");
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (size_t i = 0; i < 200; ++i) {
        const size_t bytes = 100'000 + 1000 * i + t;
        void* const data = pool.Take(bytes);
        std::memset(data, static_cast<int>(t), bytes);
        pool.Give(data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Held(pool), 0);
}

TEST(MemoryPoolTest, MemoryThatRunsOutIsAnErrorWithTheNameOfThePool) {
  if (kSanitizerAllocator) GTEST_SKIP() << "a sanitizer ends the process";
  MemoryPool pool("tests");
  for (const size_t bytes : {size_t{1} << 60, SIZE_MAX}) {
    try {
      static_cast<void>(pool.Take(bytes));
      FAIL() << "got " << bytes;
    } catch (const std::bad_alloc& error) {
      EXPECT_EQ(std::string(error.what()),
                "the pool of tests could not get " + std::to_string(bytes) + " bytes");
    }
  }
  EXPECT_EQ(Held(pool), 0);
}

TEST(MemoryPoolDeathTest, BlocksThatCameBackAndRoomBehindABlockAreOutOfBounds) {
  if (!kAddressSanitizer) GTEST_SKIP() << "AddressSanitizer reports it";
  MemoryPool pool("tests");
  void* const other = pool.Take(kMiB);
  auto* const data = static_cast<volatile char*>(pool.Take(kMiB - 5));
  EXPECT_DEATH(data[kMiB - 5] = 1, "use-after-poison");
  pool.Give(const_cast<char*>(data));
  EXPECT_DEATH(data[0] = 1, "use-after-poison");
  pool.Give(other);
}

}  // namespace
}  // namespace halograph

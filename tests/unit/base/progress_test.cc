#include "common/base/progress.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(ProgressLineTest, ShowsCountRateAndTimeLeft) {
  EXPECT_EQ(ProgressLine({"reading edges", 1200, 2400, 2.0, "", false}),
            "reading edges: 1,200 of 2,400 (50 %), 600/s, 2.0 s left");
}

TEST(ProgressLineTest, WithoutTotalShowsNoTimeLeft) {
  EXPECT_EQ(ProgressLine({"reading", 5'000'000, 0, 2.0, "", false}), "reading: 5,000,000, 2.5 M/s");
}

TEST(ProgressLineTest, LastLineShowsTheTimeTakenAndTheNote) {
  EXPECT_EQ(ProgressLine({"epoch 3", 8, 8, 4.0, "loss 0.61", true}),
            "epoch 3: 8 in 4.0 s, 2.0/s, loss 0.61");
}

TEST(ProgressLineTest, PhaseThatCountsNothingEndsWithItsTime) {
  EXPECT_EQ(ProgressLine({"metis", 0, 0, 3.0, "", true}), "metis: done in 3.0 s");
}

TEST(ProgressLineTest, NothingDoneHasNoRate) {
  EXPECT_EQ(ProgressLine({"waiting", 0, 10, 3.0, "", false}), "waiting: 0 of 10 (0 %)");
}

TEST(ProgressLineTest, WhatWasDoneBeforeCountsButNotForTheRate) {
  EXPECT_EQ(ProgressLine({"seeds", 1000, 2000, 2.0, "", false, 600}),
            "seeds: 1,000 of 2,000 (50 %), 200/s, 5.0 s left");
  EXPECT_EQ(ProgressLine({"seeds", 600, 2000, 2.0, "", false, 600}), "seeds: 600 of 2,000 (30 %)");
  EXPECT_EQ(ProgressLine({"seeds", 2000, 2000, 7.0, "", true, 600}),
            "seeds: 1,400 in 7.0 s, 200/s");
}

TEST(ProgressTest, PhaseThatEndsAtOnceWritesNothing) {
  testing::internal::CaptureStderr();
  {
    Progress progress("quick", 10);
    progress.Advance(10);
    progress.Note("note");
    progress.Done();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressTest, AdvancesFromManyThreads) {
  Progress::Enable(false);
  Progress progress("many", 4000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&progress, t] {
      for (int i = 0; i < 1000; ++i) progress.Advance(1);
      progress.Note("thread " + std::to_string(t));
    });
  }
  for (auto& thread : threads) thread.join();
  progress.Done();
  progress.Done();
  Progress::Enable(true);
}

}  // namespace
}  // namespace halograph

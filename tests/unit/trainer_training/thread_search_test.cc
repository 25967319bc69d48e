#include "trainer/training/thread_search.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"

namespace halograph {

void PrintTo(const ThreadSplit& split, std::ostream* out) {
  *out << split.compute << "/" << split.sample << "/" << split.gather;
}

namespace {

constexpr ThreadLimits kTwo = {.processors = 2, .sample = 2, .gather = 2};
constexpr ThreadLimits kEight = {.processors = 8, .sample = 8, .gather = 8};

// Seconds of a step with a split; the how-manieth step of the run it is.
using StepSeconds = std::function<double(const ThreadSplit& split, int64_t step)>;

// To its end.
void Search(const StepSeconds& seconds, ThreadSearch* search) {
  for (int64_t step = 0; !search->done(); ++step) {
    const auto visit = search->Count(seconds(search->split(), step));
    if (visit.has_value()) search->Take(*visit);
  }
}

ThreadSplit Choice(const ThreadLimits& most, const StepSeconds& seconds) {
  ThreadSearch search(most);
  Search(seconds, &search);
  return search.split();
}

// Of [0, 1), by the step alone.
double Noise(int64_t step) {
  return static_cast<double>(Mix(static_cast<uint64_t>(step)) >> 11) / double(uint64_t{1} << 53);
}

TEST(ThreadSearchTest, SplitsBeginWithTheOneWithoutTuneAndShareTheProcessorsOrOverlap) {
  EXPECT_THAT(ThreadSearch::SplitsOf(kTwo),
              testing::ElementsAre(ThreadSplit{2, 2, 2}, ThreadSplit{1, 2, 2}, ThreadSplit{2, 1, 1},
                                   ThreadSplit{1, 1, 1}));
  for (const int processors : {3, 4, 8, 64, 256}) {
    const ThreadLimits most{processors, 8, 3};
    const auto splits = ThreadSearch::SplitsOf(most);
    EXPECT_EQ(splits.front(), (ThreadSplit{processors, 2, 2}));
    EXPECT_LE(splits.size(), 16U);
    for (size_t i = 0; i < splits.size(); ++i) {
      const ThreadSplit& split = splits[i];
      EXPECT_TRUE(split.compute >= 1 && split.compute <= processors) << processors;
      EXPECT_TRUE(split.sample >= 1 && split.sample <= 8) << processors;
      EXPECT_TRUE(split.gather >= 1 && split.gather <= 3) << processors;
      EXPECT_EQ(std::count(splits.begin(), splits.end(), split), 1);
    }
  }
}

TEST(ThreadSearchTest, OneProcessorIsNoChoice) {
  const ThreadSearch search({1, 1, 1});
  EXPECT_TRUE(search.done());
  EXPECT_EQ(search.split(), (ThreadSplit{1, 1, 1}));
  EXPECT_EQ(search.best(), std::nullopt);
}

TEST(ThreadSearchTest, WithoutThreadsThatPrepareThoseThatComputeAreChosen) {
  for (const int fastest : {1, 4}) {
    EXPECT_EQ(Choice({4, 1, 1}, [&](const ThreadSplit& split,
                                    int64_t) { return split.compute == fastest ? 0.9 : 1.0; }),
              (ThreadSplit{fastest, 1, 1}));
  }
}

TEST(ThreadSearchTest, EachSplitIsChosenWhereItIsTheFastest) {
  for (const ThreadLimits& most : {kTwo, kEight}) {
    for (const ThreadSplit& fastest : ThreadSearch::SplitsOf(most)) {
      EXPECT_EQ(Choice(most, [&](const ThreadSplit& split,
                                 int64_t) { return split == fastest ? 0.9 : 1.0; }),
                fastest);
    }
  }
}

// Stages side by side: the slowest bounds the step.
TEST(ThreadSearchTest, TheStageThatBoundsTheStepGetsTheThreads) {
  const auto bound = [](double compute, double sample, double gather) {
    return [=](const ThreadSplit& split, int64_t) {
      return std::max({compute / split.compute, sample / split.sample, gather / split.gather});
    };
  };
  EXPECT_EQ(Choice(kTwo, bound(1, 0.1, 0.1)), (ThreadSplit{2, 1, 1}));
  EXPECT_EQ(Choice(kTwo, bound(0.1, 1, 0.1)), (ThreadSplit{1, 2, 1}));
  EXPECT_EQ(Choice(kTwo, bound(0.1, 0.1, 1)), (ThreadSplit{1, 1, 2}));
  EXPECT_EQ(Choice(kTwo, bound(0.1, 1, 1)), (ThreadSplit{1, 2, 2}));
  EXPECT_EQ(Choice(kEight, bound(8, 0.9, 0.4)), (ThreadSplit{8, 1, 1}));
}

TEST(ThreadSearchTest, ATieTakesFewerThreads) {
  const auto gain = [](double share) {
    return [=](const ThreadSplit& split, int64_t) {
      return 1 - (split == ThreadSplit{2, 2, 2} ? share : 0);
    };
  };
  EXPECT_EQ(Choice(kTwo, gain(0)), (ThreadSplit{1, 1, 1}));
  EXPECT_EQ(Choice(kTwo, gain(ThreadSearch::kTie / 2)), (ThreadSplit{1, 1, 1}));
  EXPECT_EQ(Choice(kTwo, gain(2 * ThreadSearch::kTie)), (ThreadSplit{2, 2, 2}));
}

TEST(ThreadSearchTest, NoiseAndStepsThatHangChangeNoChoice) {
  for (const ThreadSplit& fastest : ThreadSearch::SplitsOf(kTwo)) {
    EXPECT_EQ(Choice(kTwo,
                     [&](const ThreadSplit& split, int64_t step) {
                       const double hangs = Noise(-step - 1) < 0.01 ? 3 : 0;
                       return (split == fastest ? 0.9 : 1.0) * (1 + 0.05 * Noise(step)) + hangs;
                     }),
              fastest);
  }
}

TEST(ThreadSearchTest, AMachineThatGetsSlowerMeanwhileChangesNoChoice) {
  for (const ThreadSplit& fastest : ThreadSearch::SplitsOf(kTwo)) {
    EXPECT_EQ(Choice(kTwo,
                     [&](const ThreadSplit& split, int64_t step) {
                       const double load = 1 + 0.001 * static_cast<double>(step);
                       return (split == fastest ? 0.9 : 1.0) * load;
                     }),
              fastest);
  }
}

// A step is as fast as what prepared it: what was begun before the change had the split before it.
TEST(ThreadSearchTest, StepsBegunWithTheSplitBeforeDoNotCount) {
  for (const int ahead : {1, 12}) {
    ThreadLimits most = kTwo;
    most.ahead = ahead;  // in any case
    const ThreadSearch search(most);
    for (const ThreadSplit& fastest : ThreadSearch::SplitsOf(most)) {
      std::deque<ThreadSplit> begun;
      EXPECT_EQ(Choice(most,
                       [&](const ThreadSplit& split, int64_t) {
                         while (std::ssize(begun) < search.AheadOf(split) + 1) {
                           begun.push_back(split);
                         }
                         const ThreadSplit prepared = begun.front();
                         begun.pop_front();
                         return prepared == fastest ? 0.9 : 1.0;
                       }),
                fastest);
    }
  }
}

// Of two threads that prepare side by side, steps come in pairs.
TEST(ThreadSearchTest, AStepThatWaitedAndTheNextBelongTogether) {
  EXPECT_EQ(Choice(kTwo,
                   [](const ThreadSplit& split, int64_t step) {
                     if (split.sample == 1) return 1.0;
                     return step % 2 == 0 ? 2.4 : 0.1;  // 1.25 on average
                   }),
            (ThreadSplit{1, 1, 1}));
}

TEST(ThreadSearchTest, ItsStepsAreBounded) {
  constexpr int64_t kVisit = 2 * 8 + 2 + ThreadSearch::kCountedSteps;  // the longest
  for (const int processors : {2, 3, 4, 6, 8, 16, 64, 256}) {
    ThreadSearch search({processors, 8, 8});
    // More threads are better, so that none of the splits that take long to visit is left out.
    Search([](const ThreadSplit& split, int64_t) { return 1.0 / split.all(); }, &search);
    EXPECT_LE(search.steps(), ThreadSearch::kMostSteps + kVisit) << processors;
    EXPECT_GE(search.visited(), 4) << processors;
  }
}

TEST(ThreadSearchTest, TheBestSoFarIsThereOnceAVisitIsOver) {
  ThreadSearch search(kTwo);
  const auto visit = [&](double seconds) {
    std::optional<double> mean;
    while (!mean.has_value()) {
      mean = search.Count(seconds);
      EXPECT_LE(search.steps(), ThreadSearch::kMostSteps);
    }
    search.Take(*mean);
  };
  EXPECT_EQ(search.best(), std::nullopt);
  EXPECT_EQ(search.split(), (ThreadSplit{2, 2, 2}));
  visit(1.0);
  EXPECT_EQ(search.best()->split, (ThreadSplit{2, 2, 2}));
  EXPECT_DOUBLE_EQ(search.best()->step_seconds, 1.0);
  visit(0.5);
  EXPECT_EQ(search.best()->split, (ThreadSplit{1, 2, 2}));
  visit(0.7);
  EXPECT_EQ(search.best()->split, (ThreadSplit{1, 2, 2}));
  EXPECT_EQ(search.visited(), 3);
  EXPECT_FALSE(search.done());
}

// Ranks that are given the same figures go on alike, whatever else they see.
TEST(ThreadSearchTest, WhatIsTakenDecides) {
  ThreadSearch one(kEight), other(kEight);
  for (int64_t step = 0; !one.done(); ++step) {
    ASSERT_EQ(one.split(), other.split());
    const auto visit = one.Count(1 / (1.0 + one.split().sample));
    const auto ignored = other.Count(Noise(step));
    ASSERT_EQ(visit.has_value(), ignored.has_value());
    if (!visit.has_value()) continue;
    one.Take(*visit);
    other.Take(*visit);
  }
  EXPECT_TRUE(other.done());
  EXPECT_EQ(one.split(), other.split());
}

}  // namespace
}  // namespace halograph

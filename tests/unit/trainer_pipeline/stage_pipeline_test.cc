#include "trainer/pipeline/stage_pipeline.h"

#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/unit/trainer_pipeline/late_answers.h"

namespace halograph {
namespace {

using Ints = StagePipeline<int64_t>;
using Run = std::function<Status(int64_t index, int64_t* item)>;

struct Shape {
  size_t threads;
  int64_t ahead;
  size_t stages;
  bool started = false;  // the first stage does not wait for what it starts
};

// A stage whose work is done when `answers` come.
Ints::Stage StartedStage(Run run, std::shared_ptr<LateAnswers> answers) {
  return {.name = "started",
          .start = [run = std::move(run), answers = std::move(answers)](
                       int64_t index, int64_t* item, const PostWork& post, StatusDone done) {
            answers->Add(post, [=] { done(RunCaught([&] { return run(index, item); })); });
          }};
}

// `first`, and behind it stages that change nothing.
std::vector<Ints::Stage> StagesOf(const Shape& shape, Run first) {
  Ints::Stage stage{.name = "first", .run = std::move(first)};
  if (shape.started) {
    stage = StartedStage(std::move(stage.run), std::make_shared<LateAnswers>());
    stage.at_once = shape.threads + 2;
  }
  stage.threads = shape.threads;
  stage.depth = 3;
  std::vector<Ints::Stage> stages = {std::move(stage)};
  while (stages.size() < shape.stages) {
    stages.push_back({.name = "more",
                      .run = [](int64_t, int64_t*) { return OkStatus(); },
                      .threads = shape.threads});
  }
  return stages;
}

class StagePipelineTest : public testing::TestWithParam<Shape> {};

TEST_P(StagePipelineTest, DeliversAllInOrder) {
  std::atomic<uint64_t> spun = 0;
  Ints pipeline(StagesOf(GetParam(),
                         [&](int64_t index, int64_t* item) {
                           // Items take unequally long, so that they are finished out of order.
                           const uint64_t rounds = Mix(static_cast<uint64_t>(index)) % 2000;
                           for (uint64_t i = 0; i < rounds; ++i) ++spun;
                           *item = index * index;
                           return OkStatus();
                         }),
                {.count = 500, .ahead = GetParam().ahead});
  for (int64_t i = 0; i < 500; ++i) {
    auto next = pipeline.Next();
    ASSERT_TRUE(next.ok() && next->has_value());
    EXPECT_EQ(**next, i * i);
  }
  auto end = pipeline.Next();
  ASSERT_TRUE(end.ok());
  EXPECT_FALSE(end->has_value());
}

TEST_P(StagePipelineTest, IsNeverFurtherAheadThanAllowed) {
  std::atomic<int64_t> taken = 0;
  std::atomic<int64_t> furthest = 0;
  Ints pipeline(StagesOf(GetParam(),
                         [&](int64_t index, int64_t* item) {
                           const int64_t ahead = index - taken.load();
                           int64_t seen = furthest.load();
                           while (seen < ahead && !furthest.compare_exchange_weak(seen, ahead)) {
                           }
                           *item = index;
                           return OkStatus();
                         }),
                {.count = 300, .ahead = GetParam().ahead, .ready = 0});
  for (int64_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(pipeline.Next().ok());
    ++taken;
  }
  // `taken` is raised after room was made, so one more may have begun by then.
  EXPECT_LE(furthest.load(), GetParam().ahead);
}

TEST_P(StagePipelineTest, AnErrorComesAfterTheItemsBeforeItAndStays) {
  Ints pipeline(StagesOf(GetParam(),
                         [](int64_t index, int64_t* item) -> Status {
                           if (index >= 40) return Unavailable("item {} is not there", index);
                           *item = index;
                           return OkStatus();
                         }),
                {.count = 100, .ahead = GetParam().ahead});
  for (int64_t i = 0; i < 40; ++i) ASSERT_EQ(**pipeline.Next(), i);
  for (int again = 0; again < 2; ++again) {
    const Status status = pipeline.Next().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(Message(status), "item 40 is not there");
  }
}

TEST_P(StagePipelineTest, AnErrorOfALaterStageComesInItsTurn) {
  std::vector<Ints::Stage> stages = StagesOf(GetParam(), [](int64_t index, int64_t* item) {
    *item = index;
    return OkStatus();
  });
  stages.push_back({.name = "last", .run = [](int64_t index, int64_t*) -> Status {
                      return index == 7 ? DataLoss("item 7 is damaged") : OkStatus();
                    }});
  Ints pipeline(std::move(stages), {.count = 100, .ahead = GetParam().ahead});
  for (int64_t i = 0; i < 7; ++i) ASSERT_EQ(**pipeline.Next(), i);
  EXPECT_EQ(Message(pipeline.Next().status()), "item 7 is damaged");
  EXPECT_EQ(Message(pipeline.Next().status()), "item 7 is damaged");
}

TEST_P(StagePipelineTest, DroppedInTheMiddleJoinsItsThreads) {
  std::atomic<int64_t> running = 0;
  {
    Ints pipeline(StagesOf(GetParam(),
                           [&](int64_t, int64_t*) {
                             ++running;
                             --running;
                             return OkStatus();
                           }),
                  {.count = 1000, .ahead = GetParam().ahead});
    for (int64_t i = 0; i < 10; ++i) ASSERT_TRUE(pipeline.Next().ok());
  }
  EXPECT_EQ(running.load(), 0);
}

TEST_P(StagePipelineTest, HoldsNoMoreBytesThanAllowedButForOneItem) {
  // An item of index i comes to i % 10, every 25th to more than all may.
  const auto bytes_of = [](int64_t item) { return item % 25 == 0 ? int64_t{100} : item % 10; };
  constexpr int64_t kMemory = 20;
  std::mutex mutex;
  std::vector<int64_t> held;  // items that have room, and are not known to be taken
  int64_t most = 0;
  std::vector<int64_t> told;
  std::vector<Ints::Stage> stages = StagesOf(GetParam(), [](int64_t index, int64_t* item) {
    *item = index;
    return OkStatus();
  });
  stages.push_back({.name = "holds", .run = [&](int64_t, int64_t* item) {
                      const std::lock_guard lock(mutex);
                      held.push_back(*item);
                      // The first may be taken just now.
                      int64_t sum = 0;
                      for (size_t i = 1; i < held.size(); ++i) sum += bytes_of(held[i]);
                      if (held.size() > 2) most = std::max(most, sum);
                      return OkStatus();
                    }});
  Ints pipeline(std::move(stages),
                {.count = 300,
                 .ahead = GetParam().ahead,
                 .memory = kMemory,
                 .bytes = [&](int64_t item) { return ItemBytes{bytes_of(item)}; },
                 .measured = 0,
                 .too_large = [&](int64_t bytes) { told.push_back(bytes); }});
  for (int64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(**pipeline.Next(), i);
    const std::lock_guard lock(mutex);
    std::erase(held, i);
  }
  EXPECT_LE(most, kMemory);
  EXPECT_EQ(told, std::vector<int64_t>{100}) << "once";
}

INSTANTIATE_TEST_SUITE_P(ThreadsAheadAndStages, StagePipelineTest,
                         testing::Values(Shape{2, 0, 1}, Shape{1, 1, 1}, Shape{1, 4, 1},
                                         Shape{4, 2, 1}, Shape{4, 16, 1}, Shape{2, 0, 3},
                                         Shape{1, 1, 3}, Shape{3, 2, 3}, Shape{2, 16, 4},
                                         Shape{1, 0, 1, true}, Shape{1, 1, 1, true},
                                         Shape{1, 16, 1, true}, Shape{2, 16, 3, true}));

Ints::Stage Numbers() {
  return {.name = "numbers", .run = [](int64_t index, int64_t* item) {
            *item = index;
            return OkStatus();
          }};
}

TEST(StagePipelineBoundsTest, AStageIsNoFurtherAheadOfTheNextThanItsDepth) {
  // The second stage holds its first item until the first stage has done all that it may.
  std::latch all_begun(4);
  std::atomic<int64_t> begun = 0;
  std::atomic<int64_t> seen = 0;
  Ints pipeline({{.name = "first",
                  .run =
                      [&](int64_t, int64_t*) {
                        if (++begun <= 4) all_begun.count_down();
                        return OkStatus();
                      },
                  .depth = 3},
                 {.name = "second",
                  .run =
                      [&](int64_t index, int64_t*) {
                        if (index == 0) {
                          all_begun.wait();
                          seen = begun.load();
                        }
                        return OkStatus();
                      }}},
                {.count = 100, .ahead = 8});
  ASSERT_TRUE(pipeline.Next().ok());
  EXPECT_EQ(seen.load(), 4) << "item 0, which the second stage has begun, and three more";
}

TEST(StagePipelineBoundsTest, TheFrontRunsAheadOfWhatIsReady) {
  // No item is taken before the first stage has seen the last one.
  std::latch last(1);
  std::atomic<int64_t> gathered = 0;
  Ints pipeline({{.name = "first",
                  .run =
                      [&](int64_t index, int64_t*) {
                        if (index == 99) last.count_down();
                        return OkStatus();
                      }},
                 {.name = "second",
                  .run =
                      [&](int64_t, int64_t*) {
                        ++gathered;
                        return OkStatus();
                      }}},
                {.count = 100, .ahead = 2});
  last.wait();
  EXPECT_LE(gathered.load(), 2);
  ASSERT_TRUE(pipeline.Next().ok());
}

TEST(StagePipelineBoundsTest, ItemsNearestDeliveryGoWhateverTheyComeTo) {
  // Three items that each fill the memory are through before the first is taken.
  Ints pipeline(
      {Numbers(), {.name = "second", .run = [](int64_t, int64_t*) { return OkStatus(); }}},
      {.count = 10, .ahead = 4, .memory = 1, .always = 3, .bytes = [](const int64_t&) {
         return ItemBytes{100};
       }});
  pipeline.AwaitStage(1, 2);
  for (int64_t i = 0; i < 10; ++i) ASSERT_EQ(**pipeline.Next(), i);
}

// Of items of 2 bytes that grow by so many, in 100.
Ints GrowingItems(int64_t ahead, int64_t more, std::atomic<int64_t>* begun,
                  std::atomic<int64_t>* grown) {
  return {{{.name = "measured",
            .run =
                [=](int64_t index, int64_t* item) {
                  ++*begun;
                  *item = index;
                  return OkStatus();
                }},
           {.name = "grows",
            .run =
                [=](int64_t, int64_t*) {
                  ++*grown;
                  return OkStatus();
                },
            .threads = 4}},
          {.count = 100,
           .ahead = ahead,
           .memory = 100,
           .bytes =
               [more](const int64_t&) {
                 return ItemBytes{2, more};
               },
           .grows = 1,
           .too_large = [](int64_t) { ADD_FAILURE() << "each fits"; }}};
}

TEST(StagePipelineBoundsTest, ItemsThatHaveNotGrownTakeHalfAndLeaveRoomForTwoThatDo) {
  for (const auto& [more, items] : {std::pair<int64_t, int64_t>{20, 25}, {40, 10}}) {
    SCOPED_TRACE(more);
    std::atomic<int64_t> begun = 0, grown = 0;
    Ints pipeline = GrowingItems(1, more, &begun, &grown);
    pipeline.AwaitStage(0, items - 1);
    pipeline.AwaitStage(1, 0);
    EXPECT_LE(begun.load(), items + 1) << "these, and the one without room";
    for (int64_t i = 0; i < 100; ++i) ASSERT_EQ(**pipeline.Next(), i);
  }
}

TEST(StagePipelineBoundsTest, ItemsGrowAsFarAsThereIsRoom) {
  std::atomic<int64_t> begun = 0, grown = 0;
  Ints pipeline = GrowingItems(50, 20, &begun, &grown);
  for (int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(**pipeline.Next(), i);
    EXPECT_LE(grown.load(), i + 5) << "four of 22 bytes";
  }
}

TEST(StagePipelineBoundsTest, WhatAnItemNeedsThatDoesNotFitIsTold) {
  for (const auto& [bytes, needed] :
       {std::pair<ItemBytes, int64_t>{{30, 80}, 110}, {{60, 10}, 120}}) {
    std::vector<int64_t> told;
    Ints pipeline(
        {{Numbers()}, {.name = "grows", .run = [](int64_t, int64_t*) { return OkStatus(); }}},
        {.count = 5,
         .ahead = 3,
         .memory = 100,
         .bytes = [of = bytes](const int64_t&) { return of; },
         .grows = 1,
         .too_large = [&](int64_t told_bytes) { told.push_back(told_bytes); }});
    for (int64_t i = 0; i < 5; ++i) ASSERT_EQ(**pipeline.Next(), i);
    EXPECT_EQ(told, std::vector<int64_t>{needed});
  }
}

TEST(StagePipelineBoundsTest, StagesOverlap) {
  // Each stage waits until all three are at work, on an item each.
  std::latch together(3);
  const auto meet = [&](int64_t wanted) {
    return [&together, wanted](int64_t index, int64_t*) {
      if (index == wanted) together.arrive_and_wait();
      return OkStatus();
    };
  };
  Ints pipeline(
      {{.name = "a", .run = meet(2)}, {.name = "b", .run = meet(1)}, {.name = "c", .run = meet(0)}},
      {.count = 5, .ahead = 4});
  for (int64_t i = 0; i < 5; ++i) ASSERT_TRUE(pipeline.Next().ok());
}

// What one thread starts is answered in reverse order, when all that may be has been begun.
TEST(StartedStageTest, OneThreadHasManyItemsUnderWay) {
  const auto answers = std::make_shared<LateAnswers>(6);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  Ints::Stage stage = StartedStage(
      [&](int64_t index, int64_t* item) {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
        *item = index;
        return OkStatus();
      },
      answers);
  stage.at_once = 6;
  Ints pipeline({stage}, {.count = 60, .ahead = 12});
  for (int64_t i = 0; i < 60; ++i) ASSERT_EQ(**pipeline.Next(), i);
  EXPECT_EQ(answers->most(), 6);
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_FALSE(threads.contains(answers->thread())) << "who brings answers does no work";
}

// The thread is needed by the items before those that have no room yet.
TEST(StartedStageTest, ItemsWithoutRoomKeepNoThread) {
  Ints::Stage stage =
      StartedStage([](int64_t, int64_t*) { return OkStatus(); }, std::make_shared<LateAnswers>(4));
  stage.at_once = 4;
  Ints pipeline(
      {stage, {.name = "second", .run = [](int64_t, int64_t*) { return OkStatus(); }}},
      {.count = 40, .ahead = 8, .memory = 1, .bytes = [](const int64_t&) { return ItemBytes{1}; }});
  for (int64_t i = 0; i < 40; ++i) ASSERT_TRUE(pipeline.Next().ok());
}

TEST(StartedStageTest, WhatThrowsBeforeItIsUnderWayIsAnError) {
  for (const int64_t ahead : {0, 2}) {
    Ints pipeline({{.name = "gather",
                    .start = [](int64_t, int64_t*, const PostWork&,
                                const StatusDone&) { throw std::bad_alloc(); }}},
                  {.count = 10, .ahead = ahead});
    const Status status = pipeline.Next().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(Message(status), testing::HasSubstr("gather"));
  }
}

TEST(StartedStageTest, CloseWaitsForWhatIsUnderWay) {
  const auto answers = std::make_shared<LateAnswers>(3);
  std::atomic<int64_t> answered = 0;
  {
    Ints::Stage stage = StartedStage(
        [&](int64_t, int64_t*) {
          ++answered;
          return OkStatus();
        },
        answers);
    stage.at_once = 3;
    Ints pipeline({stage}, {.count = 100, .ahead = 8});
    answers->AwaitAdded(3);
    pipeline.Close();
  }
  EXPECT_EQ(answered.load(), answers->added());
}

// All wait for the first item, whether or not those behind it were answered.
TEST(StartedStageTest, AStageThatWaitsForTheFirstItemIsBusy) {
  double now = 0;
  std::mutex mutex;
  std::vector<std::function<void()>> held;
  std::latch all(2), answered(1);
  Ints pipeline({{.name = "asks",
                  .start =
                      [&](int64_t, int64_t*, const PostWork& post, const StatusDone& done) {
                        const std::lock_guard lock(mutex);
                        held.emplace_back([&answered, post, done, of = held.size()] {
                          post([&answered, done, of] {
                            done(OkStatus());
                            if (of == 1) answered.count_down();
                          });
                        });
                        all.count_down();
                      },
                  .at_once = 2}},
                {.count = 2, .ahead = 4, .now = [&] {
                   const std::lock_guard lock(mutex);
                   return now;
                 }});
  all.wait();
  const auto pass = [&](double seconds) {
    const std::lock_guard lock(mutex);
    now += seconds;
  };
  pass(10);
  held[1]();
  answered.wait();
  pass(5);
  EXPECT_DOUBLE_EQ(pipeline.Seconds()[0].busy, 15);
  held[0]();
  ASSERT_TRUE(pipeline.Next().ok());
}

TEST(StagePipelineGateTest, AStageBeginsWhatItIsAdmittedTo) {
  std::atomic<int64_t> allowed = 2;
  std::atomic<bool> early = false;
  Ints pipeline({Numbers(),
                 {.name = "gated",
                  .run =
                      [&](int64_t index, int64_t*) {
                        if (index >= allowed.load()) early = true;
                        return OkStatus();
                      },
                  .admitted = 2}},
                {.count = 50, .ahead = 8});
  for (int64_t i = 0; i < 50; ++i) {
    ASSERT_EQ(**pipeline.Next(), i);
    pipeline.AwaitStage(1, std::min<int64_t>(i + 1, allowed.load() - 1));
    ++allowed;
    pipeline.Admit(1, allowed.load());
  }
  EXPECT_FALSE(early.load());
}

TEST(StagePipelineGateTest, FewerThreadsWorkOnceTheyAreLimited) {
  std::latch all(4), again(4);
  std::atomic<int64_t> at_work = 0, most = 0;
  Ints pipeline({{.name = "works",
                  .run =
                      [&](int64_t index, int64_t* item) {
                        const int64_t now = ++at_work;
                        int64_t seen = most.load();
                        while (seen < now && !most.compare_exchange_weak(seen, now)) {
                        }
                        if (index < 4) all.arrive_and_wait();
                        if (index >= 200 && index < 204) again.arrive_and_wait();
                        *item = index;
                        --at_work;
                        return OkStatus();
                      },
                  .threads = 4}},
                {.count = 300, .ahead = 8});
  int64_t taken = 0;
  const auto take = [&](int64_t items) {
    for (const int64_t end = taken + items; taken < end; ++taken) {
      ASSERT_EQ(**pipeline.Next(), taken);
    }
  };
  take(4);
  pipeline.Limit(0, 0);  // as 1
  take(20);              // those that were at work are through
  most = 0;
  take(100);
  EXPECT_EQ(most.load(), 1);
  pipeline.Limit(0, 100);  // as many as there are
  take(176);               // four of them meet
}

TEST(StartedStageTest, WhatIsAnsweredIsTakenByTheThreadsThatMayWork) {
  const auto answers = std::make_shared<LateAnswers>(6);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  Ints::Stage stage = StartedStage(
      [&](int64_t, int64_t*) {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
        return OkStatus();
      },
      answers);
  stage.threads = 4;
  stage.at_once = 6;
  Ints pipeline({stage}, {.count = 200, .ahead = 12});
  pipeline.Limit(0, 1);
  for (int64_t i = 0; i < 50; ++i) ASSERT_TRUE(pipeline.Next().ok());
  {
    const std::lock_guard lock(mutex);
    threads.clear();
  }
  for (int64_t i = 50; i < 200; ++i) ASSERT_TRUE(pipeline.Next().ok());
  EXPECT_EQ(threads.size(), 1U);
}

TEST(StagePipelineGateTest, WhoAwaitsAnItemThatWillNeverComeGoesOn) {
  Ints pipeline({Numbers(),
                 {.name = "fails",
                  .run = [](int64_t index, int64_t*) -> Status {
                    return index == 3 ? Unavailable("no") : OkStatus();
                  }}},
                {.count = 10, .ahead = 8});
  pipeline.AwaitStage(1, 5);
  pipeline.AwaitStage(1, 100);  // behind the last
  for (int64_t i = 0; i < 3; ++i) ASSERT_EQ(**pipeline.Next(), i);
  EXPECT_FALSE(pipeline.Next().ok());
}

TEST(StagePipelineGateTest, WhoAwaitsMoreThanThereIsAwaitsAll) {
  std::atomic<int64_t> through = 0;
  Ints pipeline({Numbers(),
                 {.name = "counts",
                  .run =
                      [&](int64_t, int64_t*) {
                        ++through;
                        return OkStatus();
                      }}},
                {.count = 10, .ahead = 10});
  pipeline.AwaitStage(1, 100);
  EXPECT_EQ(through.load(), 10);
}

TEST(StagePipelineStopTest, CloseEndsAWaitingConsumer) {
  std::latch inside(1), release(1);
  Ints pipeline({{.name = "waits",
                  .run =
                      [&](int64_t, int64_t*) {
                        inside.count_down();
                        release.wait();
                        return OkStatus();
                      }}},
                {.count = 10, .ahead = 2});
  Status seen;
  std::thread consumer([&] { seen = pipeline.Next().status(); });
  inside.wait();
  std::thread closer([&] { pipeline.Close(); });
  consumer.join();  // ends although item 0 is still in the making
  release.count_down();
  closer.join();
  EXPECT_EQ(seen.code(), absl::StatusCode::kCancelled);
}

TEST(StagePipelineStopTest, CloseEndsStagesThatWaitForLeaveOrRoom) {
  Ints pipeline(
      {Numbers(),
       {.name = "gated", .run = [](int64_t, int64_t*) { return OkStatus(); }, .admitted = 0}},
      {.count = 100, .ahead = 8, .memory = 3, .bytes = [](const int64_t&) {
         return ItemBytes{2};
       }});
  pipeline.AwaitStage(0, 0);
  pipeline.Close();
}

TEST(StagePipelineStopTest, AThrowingStageIsAnErrorThatNamesIt) {
  for (const int64_t ahead : {0, 2}) {
    Ints pipeline({{.name = "gather",
                    .run = [](int64_t, int64_t*) -> Status { throw std::bad_alloc(); },
                    .threads = 2}},
                  {.count = 10, .ahead = ahead});
    const Status status = pipeline.Next().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(Message(status), testing::HasSubstr("bad_alloc"));
    EXPECT_THAT(Message(status), testing::HasSubstr("gather"));
  }
}

TEST(StagePipelineStopTest, NothingToDoEndsAtOnce) {
  Ints pipeline({{.name = "none",
                  .run = [](int64_t, int64_t*) -> Status { return Internal("not reached"); }}},
                {.count = 0, .ahead = 2});
  auto next = pipeline.Next();
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(next->has_value());
}

TEST(StageClockTest, SecondsGoToTheStateThatAThreadIsIn) {
  double now = 100;
  StageClock clock({1, 2}, [&] { return now; });
  now += 1;  // all are starved
  clock.Change(0, StageState::kStarved, StageState::kBusy);
  clock.Change(1, StageState::kStarved, StageState::kBusy);  // one of two
  now += 4;
  clock.Change(0, StageState::kBusy, StageState::kBlocked);
  now += 2;
  const std::vector<StageSeconds> seconds = clock.Read();
  EXPECT_DOUBLE_EQ(seconds[0].starved, 1);
  EXPECT_DOUBLE_EQ(seconds[0].busy, 4);
  EXPECT_DOUBLE_EQ(seconds[0].blocked, 2);
  EXPECT_DOUBLE_EQ(seconds[1].starved, 1 + 0.5 * 6) << "the mean over its threads";
  EXPECT_DOUBLE_EQ(seconds[1].busy, 0.5 * 6);
  EXPECT_DOUBLE_EQ(seconds[1].blocked, 0);
}

TEST(StageClockTest, ThreadsThatMayNotWorkAreInNoMean) {
  double now = 0;
  StageClock clock({4}, [&] { return now; });
  clock.Change(0, StageState::kStarved, StageState::kBusy);
  for (int thread = 1; thread < 4; ++thread) {
    clock.Change(0, StageState::kStarved, StageState::kParked);
  }
  now += 3;
  clock.Change(0, StageState::kBusy, StageState::kStarved);
  now += 1;
  EXPECT_DOUBLE_EQ(clock.Read()[0].busy, 3);
  EXPECT_DOUBLE_EQ(clock.Read()[0].starved, 1);
}

// A mean over threads that may work becomes less when one more may; what is scraped must not.
TEST(StageClockTest, SumsOverThreadsNeverBecomeLess) {
  double now = 0;
  StageClock clock({2}, [&] { return now; });
  clock.Change(0, StageState::kStarved, StageState::kBusy);
  clock.Change(0, StageState::kStarved, StageState::kParked);
  now += 10;
  EXPECT_DOUBLE_EQ(clock.ReadThreads()[0].busy, 10);
  clock.Change(0, StageState::kBusy, StageState::kStarved);
  clock.Change(0, StageState::kParked, StageState::kStarved);
  now += 10;
  EXPECT_LT(clock.Read()[0].busy, 10);
  EXPECT_DOUBLE_EQ(clock.ReadThreads()[0].busy, 10);
  EXPECT_DOUBLE_EQ(clock.ReadThreads()[0].starved, 20);
}

TEST(StageClockTest, WithoutThreadsAStageIsBusyWhileItRuns) {
  double now = 0;
  const auto takes = [&](double seconds) {
    return [&now, seconds](int64_t, int64_t*) {
      now += seconds;
      return OkStatus();
    };
  };
  Ints pipeline({{.name = "a", .run = takes(2), .threads = 3}, {.name = "b", .run = takes(3)}},
                {.count = 4, .ahead = 0, .now = [&] { return now; }});
  ASSERT_TRUE(pipeline.Next().ok());
  ASSERT_TRUE(pipeline.Next().ok());
  now += 1;  // the consumer's own
  const std::vector<StageSeconds> seconds = pipeline.Seconds();
  EXPECT_DOUBLE_EQ(seconds[0].busy, 4);
  EXPECT_DOUBLE_EQ(seconds[0].starved, 7);
  EXPECT_DOUBLE_EQ(seconds[1].busy, 6);
  EXPECT_DOUBLE_EQ(seconds[1].starved, 5);
}

}  // namespace
}  // namespace halograph

// Several pushes in one call.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/support/failing_files.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class StoreTogetherTest : public StoreTest {
 protected:
  StoreTogetherTest() {
    env_ = std::make_unique<PlainEnv>(std::make_unique<FailingFiles>(&switches_));
  }
  ~StoreTogetherTest() override { store_.reset(); }  // before the switches

  void OpenWithTensors(int count) {
    MustOpen();
    for (int i = 0; i < count; ++i) ASSERT_TRUE(store_->Create(Embedding(Name(i))).ok());
  }
  static std::string Name(int tensor) { return "emb" + std::to_string(tensor); }
  static TestPush PushTo(int tensor, uint64_t client, uint64_t sequence, size_t count = 40) {
    TestPush push = RandomPush(client, sequence, count);
    push.tensor = Name(tensor);
    return push;
  }
  std::vector<StatusOr<PushReceipt>> Push(const std::vector<TestPush>& pushes,
                                          const WorkLimits& limits = {}) {
    std::vector<StatePush> requests;
    for (const TestPush& push : pushes) requests.push_back(push.request());
    return store_->Push(requests, limits);
  }
  void ExpectRows(int tensors, const std::vector<std::vector<TestPush>>& applied) {
    for (int i = 0; i < tensors; ++i) {
      std::vector<std::vector<TestPush>> own = applied;
      std::erase_if(own, [&](const auto& together) { return together[0].tensor != Name(i); });
      EXPECT_EQ(PullAll(0, Name(i)), Expected(own, Embedding(Name(i)))) << Name(i);
    }
  }
  // Of the log's first file, which takes the pushes; each takes as long as a disk that has to turn.
  void SlowSyncs() {
    AwaitNamed(1);
    switches_.sync_of = [this](const std::filesystem::path& path) {
      if (path.filename() != "segment-000001") return OkStatus();
      std::unique_lock lock(mutex_);
      ++syncs_;
      never_.wait_for(lock, std::chrono::milliseconds(20));
      return OkStatus();
    };
  }

  FailingFiles::Switches switches_;
  std::mutex mutex_;
  std::condition_variable never_;
  int syncs_ = 0;
};

TEST_F(StoreTogetherTest, EightTensorsTakeOneSync) {
  options_.sync = SyncLevel::kAlways;
  options_.segment_bytes = 1 << 20;  // one file
  OpenWithTensors(8);
  SlowSyncs();
  std::vector<std::vector<TestPush>> applied;
  for (uint64_t round = 0; round < 3; ++round) {
    std::vector<TestPush> pushes;
    for (int i = 0; i < 8; ++i) pushes.push_back(PushTo(i, 1, 8 * round + i + 1));
    const int64_t before = store_->stats().syncs;
    const auto receipts = Push(pushes);
    EXPECT_EQ(store_->stats().syncs - before, 1);
    for (size_t i = 0; i < 8; ++i) {
      ASSERT_TRUE(receipts[i].ok()) << receipts[i].status();
      EXPECT_EQ(receipts[i]->lsn, static_cast<int64_t>(8 * round + i + 1));
      applied.push_back({pushes[i]});
    }
    EXPECT_EQ(store_->stats().synced_lsn, receipts.back()->lsn);
  }
  EXPECT_EQ(syncs_, 3);
  ExpectRows(8, applied);
  MustOpen();
  ExpectRows(8, applied);
}

TEST_F(StoreTogetherTest, NothingIsPushedByNoPushes) {
  OpenWithTensors(1);
  EXPECT_TRUE(Push({}).empty());
  EXPECT_EQ(store_->stats().lsn, 0);
}

TEST_F(StoreTogetherTest, EachIsAnsweredForItself) {
  OpenWithTensors(2);
  std::vector<TestPush> pushes = {PushTo(0, 1, 1), PushTo(1, 1, 2), PushTo(7, 1, 3),
                                  PushTo(0, 1, 2), PushTo(0, 1, 1), PushTo(0, 1, 3)};
  pushes[1].values[5] = NAN;  // its number is free for the fourth
  const auto receipts = Push(pushes);
  ASSERT_EQ(receipts.size(), pushes.size());
  EXPECT_EQ(receipts[0]->lsn, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(receipts[1].status()));
  EXPECT_THAT(Message(receipts[1].status()), HasSubstr("emb1: the values pushed for id"));
  EXPECT_TRUE(absl::IsNotFound(receipts[2].status()));
  EXPECT_EQ(receipts[3]->lsn, 2);
  EXPECT_EQ(receipts[4]->lsn, 1);
  EXPECT_TRUE(receipts[4]->repeated);
  EXPECT_EQ(receipts[5]->lsn, 3);
  const std::vector<std::vector<TestPush>> applied = {{pushes[0]}, {pushes[3]}, {pushes[5]}};
  ExpectRows(2, applied);
  MustOpen();
  ExpectRows(2, applied);
  EXPECT_EQ(MustPush(PushTo(1, 1, 4)).lsn, 4);
}

TEST_F(StoreTogetherTest, StepsOfSeveralTensorsAreCompleteWithTheLastRank) {
  OpenWithTensors(3);
  std::vector<std::vector<TestPush>> of_rank(2);
  for (int rank = 0; rank < 2; ++rank) {
    for (int i = 0; i < 3; ++i) {
      TestPush push = StepPush(0, rank, 2);
      push.tensor = Name(i);
      push.sequence = static_cast<uint64_t>(i) + 1;
      of_rank[static_cast<size_t>(rank)].push_back(push);
    }
  }
  for (const auto& receipt : Push(of_rank[1])) EXPECT_TRUE(receipt.ok()) << receipt.status();
  EXPECT_EQ(store_->Describe({false, "node", Name(2)})->step, -1);
  for (const auto& receipt : Push(of_rank[0])) EXPECT_TRUE(receipt.ok()) << receipt.status();
  std::vector<std::vector<TestPush>> applied;
  for (size_t i = 0; i < 3; ++i) applied.push_back({of_rank[0][i], of_rank[1][i]});
  ExpectRows(3, applied);
}

// Those that are in the log must not wait for a checkpoint that waits for their turns.
TEST_F(StoreTogetherTest, MoreThanTheLogHoldsGoesOnAfterCheckpoints) {
  options_.log_bytes = 256 << 10;
  OpenWithTensors(2);
  std::vector<TestPush> pushes;
  std::vector<std::vector<TestPush>> applied;
  for (uint64_t i = 1; i <= 60; ++i) {
    pushes.push_back(PushTo(static_cast<int>(i % 2), 1, i, 400));
    applied.push_back({pushes.back()});
  }
  for (const auto& receipt : Push(pushes)) ASSERT_TRUE(receipt.ok()) << receipt.status();
  EXPECT_GT(store_->stats().checkpoints, 0);
  ExpectRows(2, applied);
}

// Two that fill more than a segment: the second is logged when the first is on the disk.
TEST_F(StoreTogetherTest, WhatIsNotInTheLogAtTheDeadlineIsRefused) {
  options_.sync = SyncLevel::kAlways;
  OpenWithTensors(2);
  std::unique_lock hung(mutex_);
  switches_.sync_of = [this](const std::filesystem::path&) {
    const std::lock_guard lock(mutex_);
    return OkStatus();
  };
  const std::vector<TestPush> pushes = {PushTo(0, 1, 1, 1500), PushTo(1, 1, 2, 1500)};
  std::vector<StatusOr<PushReceipt>> late;
  // A slow machine may not come to the log at all in the first of these times.
  for (const int ms : {100, 1'000, 10'000, 100'000}) {
    late = Push(pushes,
                {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms)});
    if (Message(late[0].status()).find("has LSN 1") != std::string::npos) break;
  }
  EXPECT_THAT(Message(late[0].status()), HasSubstr("has LSN 1"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late[1].status())) << late[1].status();
  EXPECT_THAT(Message(late[1].status()), HasSubstr("the push is not in the log"));
  EXPECT_THAT(Message(late[1].status()), testing::Not(HasSubstr("LSN")));
  hung.unlock();
  const auto again = Push(pushes);
  EXPECT_TRUE(again[0].ok() && again[0]->repeated);
  EXPECT_TRUE(again[1].ok() && !again[1]->repeated && again[1]->lsn == 2);
  ExpectRows(2, {{pushes[0]}, {pushes[1]}});
}

TEST_F(StoreTogetherTest, LatePushesAreAppliedYetAndSayTheirNumbers) {
  options_.sync = SyncLevel::kAlways;
  OpenWithTensors(2);
  std::unique_lock hung(mutex_);
  switches_.sync_of = [this](const std::filesystem::path&) {
    const std::lock_guard lock(mutex_);
    return OkStatus();
  };
  const std::vector<TestPush> pushes = {PushTo(0, 1, 1), PushTo(1, 1, 2)};
  std::vector<std::string> told(2);  // in the call in which the push came into the log
  for (const int milliseconds : {20, 200, 2000, 20000}) {  // a busy machine may be too late for it
    const auto late = Push(pushes, {.deadline = std::chrono::steady_clock::now() +
                                                std::chrono::milliseconds(milliseconds)});
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(absl::IsDeadlineExceeded(late[i].status())) << late[i].status();
      if (told[i].find("has LSN") == std::string::npos) told[i] = Message(late[i].status());
    }
    if (told[1].find("has LSN") != std::string::npos) break;
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(told[i], HasSubstr("has LSN " + std::to_string(i + 1)));
  }
  hung.unlock();
  for (const auto& again : Push(pushes)) EXPECT_TRUE(again.ok() && again->repeated);
  ExpectRows(2, {{pushes[0]}, {pushes[1]}});
}

// Each call has the turns of both tensors, in either order, while checkpoints hold pushes up.
TEST_F(StoreTogetherTest, CallsThatCrossWaitForNothingForEver) {
  options_.max_image_bytes = 1;
  OpenWithTensors(2);
  constexpr uint64_t kCalls = 40;
  std::mutex mutex;
  std::vector<std::pair<int64_t, TestPush>> applied;
  std::vector<std::thread> threads;
  for (uint64_t client = 1; client <= 3; ++client) {
    threads.emplace_back([&, client] {
      for (uint64_t call = 0; call < kCalls; ++call) {
        const int first = static_cast<int>((client + call) % 2);
        const std::vector<TestPush> pushes = {PushTo(first, client, 3 * call + 1),
                                              PushTo(1 - first, client, 3 * call + 2),
                                              PushTo(first, client, 3 * call + 3)};
        const auto receipts = Push(pushes);
        const std::lock_guard lock(mutex);
        for (size_t i = 0; i < pushes.size(); ++i) {
          ASSERT_TRUE(receipts[i].ok()) << receipts[i].status();
          applied.emplace_back(receipts[i]->lsn, pushes[i]);
        }
      }
    });
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(store_->Checkpoint().ok());
  for (std::thread& thread : threads) thread.join();
  std::sort(applied.begin(), applied.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::vector<TestPush>> in_order;
  for (const auto& [lsn, push] : applied) in_order.push_back({push});
  EXPECT_EQ(applied.size(), 9 * kCalls);
  ExpectRows(2, in_order);
  MustOpen();
  ExpectRows(2, in_order);
}

}  // namespace
}  // namespace halograph

#include "common/base/thread_meeting.h"

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::HasSubstr;

constexpr auto kLong = std::chrono::seconds(60);

void OnThreads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(ThreadMeetingTest, OneDoesForAllWhatAllHaveBrought) {
  constexpr int kMembers = 4, kRounds = 500;
  ThreadMeeting meeting(kMembers);
  std::atomic<int> done = 0;
  OnThreads(kMembers, [&](int member) {
    for (int round = 0; round < kRounds; ++round) {
      int64_t own = round * 10 + member;
      const Status met = meeting.Meet(member, &own, "test", kLong, [&](std::span<void* const> all) {
        ++done;
        int64_t sum = 0;
        for (void* one : all) sum += *static_cast<int64_t*>(one);
        for (void* one : all) *static_cast<int64_t*>(one) = sum;
        return OkStatus();
      });
      ASSERT_TRUE(met.ok()) << met;
      ASSERT_EQ(own, kMembers * round * 10 + 6);
    }
  });
  EXPECT_EQ(done, kRounds);
}

TEST(ThreadMeetingTest, WhatIsBroughtComesInOrderOfMembers) {
  ThreadMeeting meeting(3);
  OnThreads(3, [&](int member) {
    int own = member;
    const Status met = meeting.Meet(member, &own, "test", kLong, [](std::span<void* const> all) {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(*static_cast<int*>(all[i]), i);
      return OkStatus();
    });
    ASSERT_TRUE(met.ok()) << met;
  });
}

TEST(ThreadMeetingTest, AllGetTheErrorOfWhatIsDoneTogetherAndMeetNoMore) {
  ThreadMeeting meeting(2);
  OnThreads(2, [&](int member) {
    const auto fails = [](std::span<void* const>) { return Unavailable("the cable is out"); };
    for (int i = 0; i < 2; ++i) {
      const Status met = meeting.Meet(member, nullptr, "test", kLong, fails);
      EXPECT_EQ(met.code(), absl::StatusCode::kUnavailable);
      EXPECT_EQ(Message(met), "the cable is out");
    }
  });
}

TEST(ThreadMeetingTest, WhatIsThrownLeavesNobodyWaiting) {
  ThreadMeeting meeting(2);
  OnThreads(2, [&](int member) {
    const auto throws = [](std::span<void* const>) -> Status { throw std::runtime_error("oh"); };
    EXPECT_EQ(meeting.Meet(member, nullptr, "test", kLong, throws).code(),
              absl::StatusCode::kInternal);
  });
}

TEST(ThreadMeetingTest, WhoLeavesTellsThoseWhoWaitAndThoseWhoComeLater) {
  ThreadMeeting meeting(3);
  meeting.SetNames({"rank 4", "rank 5", "rank 6"});
  const auto never = [](std::span<void* const>) {
    ADD_FAILURE();
    return OkStatus();
  };
  OnThreads(3, [&](int member) {
    if (member == 1) {
      meeting.Leave(member, "a row has no label");
      return;
    }
    const Status met = meeting.Meet(member, nullptr, "test", kLong, never);
    EXPECT_EQ(met.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(Message(met), HasSubstr(": test: rank 5 stopped: a row has no label"));
    meeting.Leave(member, Message(met));  // the first reason stays
  });
  EXPECT_THAT(Message(meeting.Meet(0, nullptr, "test", kLong, never)), HasSubstr("no label"));
}

TEST(ThreadMeetingTest, WhoDoesNotComeInTimeIsNamed) {
  ThreadMeeting meeting(3);
  meeting.SetNames({"rank 0", "rank 1", "rank 2"});
  const Status met = meeting.Meet(1, nullptr, "adding up", std::chrono::milliseconds(1),
                                  [](std::span<void* const>) { return OkStatus(); });
  EXPECT_EQ(met.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Message(met), "rank 1: adding up: rank 0, rank 2 did not come in time");
}

}  // namespace
}  // namespace halograph

#include "trainer/output/trace_file.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "common/storage/file.h"
#include "tests/support/captured_log.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class TraceFileTest : public testing::Test {
 protected:
  std::unique_ptr<TraceFile> Create(int rank = 0) {
    auto trace = TraceFile::Create(path_, rank);
    EXPECT_TRUE(trace.ok()) << trace.status();
    return trace.ok() ? *std::move(trace) : nullptr;
  }
  // An event from `begin` to `end`, in milliseconds from the test's start on.
  [[nodiscard]] TraceEvent Event(std::string_view track, int begin, int end) const {
    return {.track = track,
            .name = "event",
            .category = "stage",
            .begin = start_ + std::chrono::milliseconds(begin),
            .end = start_ + std::chrono::milliseconds(end),
            .args = {{"step", begin}}};
  }
  // The array that the file has now.
  [[nodiscard]] Json Read() const {
    const auto text = ReadTextFile(path_);
    EXPECT_TRUE(text.ok()) << text.status();
    const auto json = ParseJson(*text, path_);
    EXPECT_TRUE(json.ok()) << json.status();
    return json.ok() ? *json : Json();
  }
  static std::vector<Json> Complete(const Json& events) {
    std::vector<Json> complete;
    for (const Json& event : events) {
      if (event["ph"] == "X") complete.push_back(event);
    }
    return complete;
  }

  const TestFolder folder_;
  const std::string path_ = (folder_.path() / "trace.json").string();
  const Clock::time_point start_ = Clock::now();
};

TEST_F(TraceFileTest, EventsHaveTheirTimesRankAndArguments) {
  Create(3)->Add(Event("gather", 2, 7));
  const Json events = Read();
  EXPECT_EQ(events[0], Json({{"ph", "M"},
                             {"name", "process_name"},
                             {"pid", 3},
                             {"tid", 0},
                             {"args", {{"name", "rank 3"}}}}));
  const std::vector<Json> complete = Complete(events);
  ASSERT_EQ(complete.size(), 1U);
  EXPECT_EQ(complete[0]["name"], "event");
  EXPECT_EQ(complete[0]["cat"], "stage");
  EXPECT_EQ(complete[0]["pid"], 3);
  EXPECT_EQ(complete[0]["dur"], 5000);
  EXPECT_GT(complete[0]["ts"], int64_t{1600000000} * 1000000) << "microseconds since 1970";
  EXPECT_EQ(complete[0]["args"], Json({{"step", 2}}));
}

TEST_F(TraceFileTest, EventsThatOverlapStandInLanesOfTheirTrack) {
  {
    const auto trace = Create();
    for (const auto& [begin, end] : {std::pair{0, 4}, {2, 6}, {4, 8}, {7, 9}, {0, 20}}) {
      trace->Add(Event("gather", begin, end));
    }
    trace->Add(Event("sample", 1, 3));
    for (const auto& [begin, end] : {std::pair{0, 2}, {1, 6}, {7, 10}, {4, 12}}) {
      trace->Add(Event("move", begin, end));  // never more than two at a time
    }
  }
  const Json events = Read();
  std::map<int, std::string> names;
  for (const Json& event : events) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
  }
  std::vector<std::string> lanes;
  for (const Json& event : Complete(events)) lanes.push_back(names[event["tid"]]);
  EXPECT_THAT(lanes, testing::ElementsAre("gather", "gather 2", "gather", "gather 2", "gather 3",
                                          "sample", "move", "move 2", "move 2", "move"));
}

TEST_F(TraceFileTest, WhatIsThereIsAWholeArrayAfterEachWriteAndAtTheEnd) {
  constexpr int kEvents = 5000;
  auto trace = Create();
  EXPECT_EQ(Read().size(), 1U);
  std::set<size_t> sizes;
  for (int i = 0; i < kEvents; ++i) {
    trace->Add(Event("gather", i, i + 1));
    if (i % 100 == 0) sizes.insert(Complete(Read()).size());
  }
  EXPECT_GT(sizes.size(), 5U) << "it is written as it goes";
  trace.reset();
  EXPECT_EQ(Complete(Read()).size(), static_cast<size_t>(kEvents));
}

TEST_F(TraceFileTest, ThreadsWriteAtATime) {
  constexpr int kThreads = 4, kEvents = 1000;
  {
    const auto trace = Create();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < kEvents; ++i) trace->Add(Event("gather", i, i + 1));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(Complete(Read()).size(), static_cast<size_t>(kThreads * kEvents));
}

// A limit on file sizes stands in for a full disk.
TEST_F(TraceFileTest, AFullDiskEndsTheTraceWithOneWarning) {
  CapturedLog log;
  auto trace = Create();
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{100000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (int i = 0; i < 5000; ++i) trace->Add(Event("gather", i, i + 1));
  trace.reset();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, old_handler);
  const std::string text = log.End();
  EXPECT_THAT(text, testing::StartsWith("rank 0: the trace ends here, the run goes on: "));
  EXPECT_THAT(text, HasSubstr(path_));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_GT(Complete(Read()).size(), 100U) << "what was written before is a whole array";
}

TEST_F(TraceFileTest, WhatCannotBeWrittenIsToldWithWhatToDo) {
  const auto trace = Create();
  const Status second = TraceFile::Create(path_, 0).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(second), HasSubstr("--trace " + path_ + ": another run"));
  const Status missing = TraceFile::Create((folder_.path() / "no/trace").string(), 0).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  for (const char* part : {"--trace ", "no folder", "or leave the option out"}) {
    EXPECT_THAT(Message(missing), HasSubstr(part));
  }
  const Status device = TraceFile::Create("/dev/null", 0).status();
  EXPECT_EQ(device.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(device), HasSubstr("--trace /dev/null: this is no regular file"));
}

}  // namespace
}  // namespace halograph

#include "common/http/page_worker.h"

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/http/connection_sweep.h"

namespace halograph {
namespace {

using std::chrono::milliseconds, std::chrono::nanoseconds, std::chrono::seconds;
using testing::ElementsAre;

PageWorker::Reply Page(std::string text) {
  return std::make_shared<const HttpReply>(HttpText(200, std::move(text)));
}

// A worker that is busy with a page of its own until it is let go.
class PageWorkerTest : public testing::Test {
 protected:
  PageWorkerTest() {
    EXPECT_TRUE(worker_.Submit(
        "first",
        [this] {
          busy_.set_value();
          go_on_.get_future().wait();
          return Page("first");
        },
        [](const PageWorker::Reply&) {}));
    busy_.get_future().wait();
  }
  ~PageWorkerTest() override { LetGo(); }
  void LetGo() {
    if (!gone_) go_on_.set_value();
    gone_ = true;
  }
  // A page that counts how often it was made; the future is the text that its requester got.
  std::future<std::string> Ask(const std::string& key) {
    auto got = std::make_shared<std::promise<std::string>>();
    std::future<std::string> text = got->get_future();
    const bool taken = worker_.Submit(
        key,
        [this, key] {
          made_.push_back(key);
          return Page(key + std::to_string(made_.size()));
        },
        [got](const PageWorker::Reply& reply) {
          got->set_value(reply == nullptr ? "none" : reply->text);
        });
    EXPECT_TRUE(taken);
    return text;
  }

  std::promise<void> busy_, go_on_;
  bool gone_ = false;
  std::vector<std::string> made_;  // by the worker's thread
  PageWorker worker_;
};

TEST_F(PageWorkerTest, RequestsThatWaitTogetherGetOnePage) {
  std::vector<std::future<std::string>> texts;
  for (const char* key : {"a", "b", "a", "a", "b"}) texts.push_back(Ask(key));
  EXPECT_EQ(worker_.waiting(), 5U);
  LetGo();
  std::vector<std::string> got;
  for (auto& text : texts) got.push_back(text.get());
  EXPECT_THAT(got, ElementsAre("a1\n", "b2\n", "a1\n", "a1\n", "b2\n"));
  EXPECT_THAT(made_, ElementsAre("a", "b"));
}

TEST_F(PageWorkerTest, APageThatIsBeingMadeIsNotForWhoComesLater) {
  std::promise<void> begun, go_on;
  std::promise<std::string> late;
  ASSERT_TRUE(worker_.Submit(
      "a",
      [&] {
        begun.set_value();
        go_on.get_future().wait();
        return Page("old");
      },
      [](const PageWorker::Reply&) {}));
  LetGo();
  begun.get_future().wait();
  std::future<std::string> text = Ask("a");
  go_on.set_value();
  EXPECT_EQ(text.get(), "a1\n");
}

TEST_F(PageWorkerTest, AtItsEndThoseThatWaitAreTold) {
  std::future<std::string> text = Ask("a");
  std::thread end([this] { worker_.Stop(); });
  std::promise<void> refused;
  // From its end on it takes nothing; what it took before then it tells too.
  while (worker_.Submit(
      "b", [] { return Page("b"); }, [](const PageWorker::Reply&) {})) {
    std::this_thread::yield();
  }
  LetGo();
  end.join();
  EXPECT_EQ(text.get(), "none");
  EXPECT_TRUE(made_.empty());
}

TEST(PageWorkerRestTest, PagesTakeAQuarterOfAProcessorAtMost) {
  EXPECT_EQ(PageWorker::RestAfter(milliseconds(50)), milliseconds(150));
  EXPECT_EQ(PageWorker::RestAfter(seconds(7)), milliseconds(500));
}

// Sockets whose other ends tell whether they were shut.
class ConnectionSweepTest : public testing::Test {
 protected:
  struct Pair {
    Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0); }
    ~Pair() {
      close(ends[0]);
      close(ends[1]);
    }
    // Whether the end is known without waiting.
    [[nodiscard]] bool Shut() const {
      char byte = 0;
      return recv(ends[1], &byte, 1, MSG_DONTWAIT) == 0;
    }
    int ends[2];
  };
  using Time = std::chrono::steady_clock::time_point;

  Time now_ = Time() + seconds(100);
  bool crowded_ = false;
  // The thread of its own looks once an hour: these tests look themselves.
  ConnectionSweep sweep_{{.pace = std::chrono::hours(1), .now = [this] { return now_; }},
                         [this](size_t connections) { return crowded_ && connections > 0; }};
};

TEST_F(ConnectionSweepTest, ShutsThoseThatAreTooOldAndNoOthers) {
  const Pair old, young;
  sweep_.Add(old.ends[0]);
  now_ += seconds(5);
  sweep_.Add(young.ends[0]);
  now_ += seconds(5) - nanoseconds(1);
  EXPECT_EQ(sweep_.Sweep(), 0);
  now_ += nanoseconds(1);
  EXPECT_EQ(sweep_.Sweep(), 1);
  EXPECT_TRUE(old.Shut());
  EXPECT_FALSE(young.Shut());
  EXPECT_EQ(sweep_.count(), 2U);
}

TEST_F(ConnectionSweepTest, WhileCrowdedASecondIsOldEnough) {
  const Pair pair;
  sweep_.Add(pair.ends[0]);
  now_ += seconds(2);
  EXPECT_EQ(sweep_.Sweep(), 0);
  crowded_ = true;
  EXPECT_EQ(sweep_.Sweep(), 1);
  EXPECT_TRUE(pair.Shut());
}

TEST_F(ConnectionSweepTest, LeavesWhatHasEndedAlone) {
  const Pair pair;
  sweep_.Add(pair.ends[0]);
  sweep_.Remove(pair.ends[0]);
  now_ += seconds(60);
  EXPECT_EQ(sweep_.Sweep(), 0);
  EXPECT_FALSE(pair.Shut());
}

TEST(ConnectionSweepThreadTest, LooksByItself) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::atomic<int64_t> now = 0;
  ConnectionSweep sweep(
      {.pace = milliseconds(1),
       .now = [&] { return std::chrono::steady_clock::time_point(seconds(now.load())); }},
      [](size_t) { return false; });
  sweep.Add(ends[0]);
  now = 11;
  char byte = 0;
  EXPECT_EQ(recv(ends[1], &byte, 1, 0), 0);  // waits for the thread
  sweep.Remove(ends[0]);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace halograph

#include "server/peers/peers.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::hours, std::chrono::milliseconds, std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What the servers of a test do: answer at once, or keep the question until the test answers it.
struct FakeServers {
  void Answer(const std::string& address, StatusOr<std::string> reply) {
    StatsCaller::Done done;
    {
      const MutexLock lock(mutex);
      done = std::move(open.at(address));
      open.erase(address);
    }
    done(std::move(reply));
  }
  [[nodiscard]] std::vector<std::string> Asked() {
    const MutexLock lock(mutex);
    return std::exchange(asked, {});
  }
  void Set(const std::string& address, StatusOr<std::string> reply) {
    const MutexLock lock(mutex);
    replies.insert_or_assign(address, std::move(reply));
  }

  Mutex mutex;
  std::map<std::string, StatusOr<std::string>> replies;  // of those that answer at once
  std::map<std::string, StatsCaller::Done> open;
  std::vector<std::string> asked;
  std::string cannot_be_asked;
  size_t most_open = 0;
  int disconnects = 0;
};

class FakeCaller final : public StatsCaller {
 public:
  explicit FakeCaller(FakeServers* servers) : servers_(servers) {}
  ~FakeCaller() override {
    std::map<std::string, Done> left;
    {
      const MutexLock lock(servers_->mutex);
      left.swap(servers_->open);
    }
    for (const auto& [address, done] : left) done(Cancelled("the caller has ended"));
  }
  void Ask(const std::string& address, std::chrono::steady_clock::time_point, Done done) override {
    StatusOr<std::string> reply = Cancelled("");
    {
      const MutexLock lock(servers_->mutex);
      servers_->asked.push_back(address);
      if (address == servers_->cannot_be_asked) throw std::runtime_error("no memory");
      const auto found = servers_->replies.find(address);
      if (found == servers_->replies.end()) {
        servers_->open[address] = std::move(done);
        servers_->most_open = std::max(servers_->most_open, servers_->open.size());
        return;
      }
      reply = found->second;
    }
    done(std::move(reply));
  }
  void Disconnect() override {
    const MutexLock lock(servers_->mutex);
    ++servers_->disconnects;
  }

 private:
  FakeServers* const servers_;
};

class PeersTest : public testing::Test {
 protected:
  // Waits that end by themselves last so long, and those that a test ends for ever.
  PeersTest() {
    bounds_.deadline = milliseconds(20);
    bounds_.grace = milliseconds(1);
    bounds_.now = [this] { return std::chrono::steady_clock::time_point(milliseconds(now_ms_)); };
    bounds_.unix_seconds = [this] { return 1000 + static_cast<double>(now_ms_) / 1000; };
  }
  void Make(std::vector<std::string> addresses) {
    peers_ = std::make_unique<Peers>(std::move(addresses), std::make_unique<FakeCaller>(&servers_),
                                     bounds_);
  }

  std::atomic<int64_t> now_ms_ = 50000;
  PeerBounds bounds_;
  FakeServers servers_;
  std::unique_ptr<Peers> peers_;
};

std::vector<std::string> RepliesOf(const PeersLook& look) {
  std::vector<std::string> replies;
  for (const PeerAnswer& peer : look.peers) {
    replies.push_back(peer.reply == nullptr ? Message(peer.error) : *peer.reply);
  }
  return replies;
}

TEST_F(PeersTest, ALookEndsThoughAQuestionCannotBeAsked) {
  servers_.cannot_be_asked = "a:1";
  servers_.Set("b:1", "two");
  Make({"a:1", "b:1"});
  EXPECT_THAT(RepliesOf(peers_->Look()), ElementsAre("it could not be asked: no memory", "two"));
}

TEST_F(PeersTest, NobodyIsAskedUntilSomebodyLooksAndThenOnceASecond) {
  servers_.Set("a:1", "one");
  servers_.Set("b:1", Unavailable("refused"));
  Make({"a:1", "b:1"});
  EXPECT_THAT(servers_.Asked(), IsEmpty());
  PeersLook look = peers_->Look();
  EXPECT_THAT(servers_.Asked(), ElementsAre("a:1", "b:1"));
  EXPECT_THAT(RepliesOf(look), ElementsAre("one", "refused"));
  EXPECT_EQ(look.peers[0].address, "a:1");
  EXPECT_EQ(look.asked_seconds_ago, 0);
  servers_.Set("a:1", "two");
  now_ms_ += 999;
  look = peers_->Look();
  EXPECT_THAT(servers_.Asked(), IsEmpty());
  EXPECT_THAT(RepliesOf(look), ElementsAre("one", "refused"));
  EXPECT_DOUBLE_EQ(look.asked_seconds_ago, 0.999);
  now_ms_ += 1;
  EXPECT_THAT(RepliesOf(peers_->Look()), ElementsAre("two", "refused"));
}

TEST_F(PeersTest, ALookWaitsNoLongerThanItsDeadlineAndALaterOneNotForTheSilent) {
  servers_.Set("a:1", "one");
  Make({"silent:1", "a:1"});
  EXPECT_THAT(RepliesOf(peers_->Look()), ElementsAre(HasSubstr("no answer within"), "one"));
  bounds_.deadline = hours(1);  // who waits for the silent one now never ends
  servers_.Answer("silent:1", DeadlineExceeded("silent"));
  Make({"silent:1", "a:1"});
  std::thread look([&] { static_cast<void>(peers_->Look()); });
  while (true) {
    const MutexLock lock(servers_.mutex);
    if (servers_.open.contains("silent:1")) break;
  }
  servers_.Answer("silent:1", DeadlineExceeded("silent"));
  look.join();
  now_ms_ += 1000;
  EXPECT_THAT(RepliesOf(peers_->Look()), ElementsAre("silent", "one"));
  servers_.Answer("silent:1", "it is back");
  EXPECT_THAT(RepliesOf(peers_->Look()), ElementsAre("it is back", "one"));
}

TEST_F(PeersTest, AServerThatIsStillAskedIsNotAskedAgain) {
  Make({"silent:1"});
  static_cast<void>(peers_->Look());
  now_ms_ += 5000;
  static_cast<void>(peers_->Look());
  EXPECT_THAT(servers_.Asked(), ElementsAre("silent:1"));
}

TEST_F(PeersTest, WhoLooksMeanwhileGetsWhatTheFirstFinds) {
  bounds_.deadline = bounds_.grace = hours(1);
  Make({"a:1"});
  std::vector<PeersLook> looks(4);
  std::vector<std::thread> threads;
  for (PeersLook& look : looks) threads.emplace_back([&] { look = peers_->Look(); });
  while (true) {
    const MutexLock lock(servers_.mutex);
    if (servers_.open.contains("a:1")) break;
  }
  servers_.Set("a:1", "one");  // for those that come after all
  servers_.Answer("a:1", "one");
  for (std::thread& thread : threads) thread.join();
  for (const PeersLook& look : looks) EXPECT_THAT(RepliesOf(look), ElementsAre("one"));
  EXPECT_THAT(servers_.Asked(), ElementsAre("a:1")) << "once, for all of them";
}

TEST_F(PeersTest, QuestionsAtATimeAreBoundedAndTheSilentHaveTheirTurnLast) {
  bounds_.in_flight = 4;
  std::vector<std::string> addresses;
  for (int i = 0; i < 6; ++i) addresses.push_back("silent" + std::to_string(i) + ":1");
  for (int i = 0; i < 100; ++i) {
    addresses.push_back("a" + std::to_string(i) + ":1");
    servers_.Set(addresses.back(), "one");
  }
  Make(addresses);
  PeersLook look = peers_->Look();
  EXPECT_THAT(Message(look.peers[0].error), HasSubstr("no answer"));
  EXPECT_THAT(Message(look.peers[5].error), HasSubstr("too many others are silent"));
  EXPECT_THAT(Message(look.peers[50].error), HasSubstr("not asked within"));
  static_cast<void>(servers_.Asked());
  for (int i = 0; i < 4; ++i) servers_.Answer(addresses[i], DeadlineExceeded("silent"));
  now_ms_ += 1000;
  look = peers_->Look();  // two more are silent, and leave room for the others
  for (size_t i = 6; i < addresses.size(); ++i) EXPECT_NE(look.peers[i].reply, nullptr) << i;
  EXPECT_EQ(servers_.most_open, 4U);
  std::vector<std::string> asked = servers_.Asked();
  EXPECT_EQ(asked[0], "silent4:1") << "who was not asked comes before who failed";
  EXPECT_THAT(asked, SizeIs(104));
}

TEST_F(PeersTest, RepliesOfAllTogetherAreBounded) {
  bounds_.reply_bytes = 10;
  servers_.Set("a:1", "123456");
  servers_.Set("b:1", "123456");
  Make({"a:1", "b:1"});
  for (int round = 0; round < 3; ++round) {
    const PeersLook look = peers_->Look();
    EXPECT_EQ(RepliesOf(look)[0], "123456") << round;
    EXPECT_TRUE(absl::IsResourceExhausted(look.peers[1].error));
    now_ms_ += 1000;
  }
  servers_.Set("a:1", "1234");
  EXPECT_THAT(RepliesOf(peers_->Look()), ElementsAre("1234", "123456")) << "its room is free again";
}

TEST_F(PeersTest, TheClockIsReadHalfwayBetweenQuestionAndAnswer) {
  Make({"a:1"});
  static_cast<void>(peers_->Look());
  now_ms_ += 400;
  servers_.Answer("a:1", "one");
  const PeersLook look = peers_->Look();
  EXPECT_DOUBLE_EQ(look.peers[0].round_trip_seconds, 0.4);
  EXPECT_DOUBLE_EQ(look.peers[0].here_unix_seconds, 1050.2);
}

TEST_F(PeersTest, WhenNobodyLooksNothingIsKept) {
  servers_.Set("a:1", "one");
  Make({"a:1"});
  peers_->ForgetOld();
  static_cast<void>(peers_->Look());
  now_ms_ += 9999;
  peers_->ForgetOld();
  EXPECT_EQ(servers_.disconnects, 0);
  now_ms_ += 1;
  peers_->ForgetOld();
  peers_->ForgetOld();
  EXPECT_EQ(servers_.disconnects, 1) << "once";
  EXPECT_THAT(servers_.Asked(), ElementsAre("a:1"));
  EXPECT_THAT(RepliesOf(peers_->Look()), ElementsAre("one"));
  EXPECT_THAT(servers_.Asked(), ElementsAre("a:1"));
}

TEST_F(PeersTest, ItsEndEndsQuestionsAndBeginsNone) {
  bounds_.in_flight = 1;
  Make({"silent:1", "b:1"});
  static_cast<void>(peers_->Look());
  static_cast<void>(servers_.Asked());
  peers_.reset();
  EXPECT_THAT(servers_.Asked(), IsEmpty());
}

}  // namespace
}  // namespace halograph::server

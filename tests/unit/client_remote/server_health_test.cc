#include "client/remote/server_health.h"

#include <future>
#include <vector>

#include <gtest/gtest.h>

namespace halograph {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ServerHealthTest : public testing::Test {
 protected:
  int Choose(std::vector<int> servers) { return health_.Choose(servers, now_); }

  ServerHealth health_{3, 0};
  const ServerHealth::Clock::time_point now_ = ServerHealth::Clock::now();
};

TEST_F(ServerHealthTest, TheLeastBusyServerIsAsked) {
  health_.Began(0);
  health_.Began(0);
  health_.Began(1);
  EXPECT_EQ(Choose({0, 1, 2}), 2);
  health_.Began(2);
  health_.Began(2);
  EXPECT_EQ(Choose({0, 1, 2}), 1);
  EXPECT_EQ(Choose({0, 2}), 0);
  health_.Ended(2);
  EXPECT_EQ(Choose({0, 2}), 2);
}

TEST_F(ServerHealthTest, AmongEqualsTheOneAskedLongestAgoIsAsked) {
  std::vector<int> asked;
  for (int i = 0; i < 4; ++i) asked.push_back(Choose({0, 1, 2}));
  EXPECT_EQ(asked, (std::vector<int>{0, 1, 2, 0}));
  ServerHealth of_rank_2(3, 2);
  EXPECT_EQ(of_rank_2.Choose(std::vector<int>{0, 1, 2}, now_), 2);
}

// Two parts of two servers each, asked in turn as layer after layer is sampled.
TEST_F(ServerHealthTest, EachServerHasItsTurnThoughPartsAreAskedInTurn) {
  ServerHealth health(4, 0);
  std::vector<int> asked(4, 0);
  for (int i = 0; i < 10; ++i) {
    for (const auto& part : {std::vector<int>{0, 1}, std::vector<int>{2, 3}}) {
      ++asked[static_cast<size_t>(health.Choose(part, now_))];
    }
  }
  EXPECT_EQ(asked, (std::vector<int>{5, 5, 5, 5}));
}

TEST_F(ServerHealthTest, ALostServerIsNotAskedUntilItIsFound) {
  EXPECT_TRUE(health_.Lost(0, now_));
  EXPECT_FALSE(health_.Lost(0, now_)) << "lost twice";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Choose({0, 1}), 1);
  EXPECT_TRUE(health_.Found(0));
  EXPECT_FALSE(health_.Found(0));
  health_.Began(1);
  EXPECT_EQ(Choose({0, 1}), 0);
}

TEST_F(ServerHealthTest, AFullServerIsNotAskedUntilItHasRoomAgain) {
  health_.Full(0, now_, now_ + milliseconds(200));
  health_.Began(1);
  EXPECT_EQ(Choose({0, 1}), 1);
  EXPECT_EQ(health_.Choose(std::vector<int>{0, 1}, now_ + milliseconds(200)), 0);
  health_.Full(0, now_, now_ + std::chrono::hours(24));
  EXPECT_EQ(health_.Choose(std::vector<int>{0, 1}, now_ + kLongestLook), 0) << "no bound";
}

TEST_F(ServerHealthTest, WhereAllAreAvoidedALostOneIsAskedBeforeAFullOne) {
  health_.Full(0, now_, now_ + seconds(2));
  health_.Full(1, now_, now_ + seconds(1));
  EXPECT_EQ(Choose({0, 1}), 1);
  health_.Lost(2, now_);
  EXPECT_EQ(Choose({0, 1, 2}), 2);
}

TEST_F(ServerHealthTest, AnAvoidedServerIsNotAskedBecauseOthersHaveNoRoom) {
  const std::vector<int> servers = {0, 1};
  const auto only_0 = [](int server) { return server == 0; };
  EXPECT_EQ(health_.Choose(servers, now_, only_0), 0);
  health_.Lost(0, now_);
  EXPECT_EQ(health_.Choose(servers, now_, only_0), -1);
  health_.Lost(1, now_);
  EXPECT_EQ(health_.Choose(servers, now_, only_0), 0);
}

TEST_F(ServerHealthTest, APreferredServerIsAskedHoweverBusyWhileItIsNotAvoided) {
  const auto choose = [this](std::vector<int> servers, const std::function<bool(int)>& has_room) {
    return health_.Choose(servers, now_, has_room, 1);
  };
  for (int i = 0; i < 5; ++i) health_.Began(1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(choose({0, 1, 2}, nullptr), 1);
  // Nor are others asked because it has no room.
  EXPECT_EQ(choose({0, 1, 2}, [](int server) { return server != 1; }), -1);
  EXPECT_EQ(choose({0, 2}, nullptr), 0) << "it is none of them";
  health_.Full(1, now_, now_ + milliseconds(200));
  EXPECT_EQ(choose({0, 1, 2}, nullptr), 2) << "as without: that is asked longest ago";
  EXPECT_EQ(health_.Choose(std::vector<int>{0, 1, 2}, now_ + milliseconds(200), nullptr, 1), 1);
  health_.Lost(1, now_);
  EXPECT_EQ(choose({0, 1, 2}, nullptr), 0);
  health_.Lost(0, now_);
  EXPECT_EQ(choose({0, 1}, nullptr), 0) << "all are avoided: the least busy";
  health_.Found(1);
  EXPECT_EQ(health_.Choose(std::vector<int>{0, 1, 2}, now_ + seconds(1), nullptr, 1), 1);
}

TEST_F(ServerHealthTest, LooksComeLessAndLessOftenUntilItAnswersACall) {
  const auto pause = [this] {
    health_.Lost(0, now_);
    const auto look = health_.NextLook();
    EXPECT_TRUE(look.has_value() && look->server == 0);
    return look.has_value() ? look->when - now_ : seconds(0);
  };
  EXPECT_FALSE(health_.NextLook().has_value());
  for (const auto expected :
       {seconds(1), seconds(2), seconds(4), seconds(8), seconds(16), seconds(30), seconds(30)}) {
    EXPECT_EQ(pause(), expected);
    health_.Found(0);  // it tells who it is, and answers no call
  }
  pause();
  EXPECT_TRUE(health_.Answered(0));
  EXPECT_EQ(pause(), kFirstLook);
}

TEST_F(ServerHealthTest, WhoLooksWaitsForALostServerAndEndsWhenStopped) {
  auto looks = std::async(std::launch::async, [this] {
    std::vector<int> servers;
    for (;;) {
      servers.push_back(health_.WaitToLook());
      if (servers.back() < 0) return servers;
      health_.Found(servers.back());
      health_.Stop();
    }
  });
  health_.Lost(1, now_ - kFirstLook);
  EXPECT_EQ(looks.get(), (std::vector<int>{1, -1}));
}

}  // namespace
}  // namespace halograph

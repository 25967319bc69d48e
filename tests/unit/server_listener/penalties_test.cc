#include "server/listener/penalties.h"

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr AddressBytes kAddress{1};
constexpr AddressBytes kOther{2};

class PenaltiesTest : public testing::Test {
 protected:
  // How long nobody connects from now on; time passes until then.
  int ServedSeconds() {
    int served = 0;
    for (; penalties_.Holds(kAddress, now_); now_ += seconds(1)) ++served;
    return served;
  }

  Penalties::Time now_{std::chrono::hours(1)};
  Penalties penalties_{{.first = seconds(1), .longest = seconds(10), .grace = milliseconds(100)}};
};

TEST_F(PenaltiesTest, EachIsTwiceTheOneBeforeUpToTheLongest) {
  for (const int length : {1, 2, 4, 8, 10, 10}) {
    penalties_.Impose(kAddress, now_, true);
    EXPECT_FALSE(penalties_.Holds(kOther, now_));
    EXPECT_EQ(ServedSeconds(), length);
  }
}

TEST_F(PenaltiesTest, OneThatGoesOnBeginsAnewAndIsNoLonger) {
  penalties_.Impose(kAddress, now_, true);
  ServedSeconds();
  penalties_.Impose(kAddress, now_, true);
  now_ += seconds(1);
  penalties_.Impose(kAddress, now_, true);
  EXPECT_EQ(ServedSeconds(), 2);
}

TEST_F(PenaltiesTest, OneIsDefiedWhenItIsImposedAgainAfterItsGrace) {
  penalties_.Impose(kAddress, now_, true);
  now_ += milliseconds(99);
  penalties_.Impose(kAddress, now_, true);  // at the same moment, so to say
  EXPECT_FALSE(penalties_.WasDefied(kAddress, now_));
  now_ += milliseconds(1);
  penalties_.Impose(kAddress, now_, true);
  EXPECT_TRUE(penalties_.WasDefied(kAddress, now_));
  EXPECT_FALSE(penalties_.WasDefied(kOther, now_));
  ServedSeconds();
  EXPECT_FALSE(penalties_.WasDefied(kAddress, now_));
  penalties_.Impose(kAddress, now_, true);
  EXPECT_FALSE(penalties_.WasDefied(kAddress, now_));
}

TEST_F(PenaltiesTest, AfterAWhileInPeaceTheNextIsAFirstOne) {
  penalties_.Impose(kAddress, now_, true);
  ServedSeconds();
  penalties_.Impose(kAddress, now_, true);
  ServedSeconds();
  now_ += seconds(9);
  penalties_.Forget(now_);  // too early
  penalties_.Impose(kAddress, now_, true);
  EXPECT_EQ(ServedSeconds(), 4);
  for (const bool forget : {false, true}) {
    now_ += seconds(10);
    if (forget) penalties_.Forget(now_);
    penalties_.Impose(kAddress, now_, true);
    EXPECT_EQ(ServedSeconds(), 1);
  }
}

TEST_F(PenaltiesTest, OnesThatDoNotCountNeitherGrowNorAreDefied) {
  for (int i = 0; i < 3; ++i) {
    penalties_.Impose(kAddress, now_, false);
    now_ += milliseconds(500);
    penalties_.Impose(kAddress, now_, false);
    EXPECT_FALSE(penalties_.WasDefied(kAddress, now_));
    EXPECT_EQ(ServedSeconds(), 1);
  }
}

TEST_F(PenaltiesTest, OneThatDoesNotCountDoesNotTakeUpAnOldDefiance) {
  penalties_.Impose(kAddress, now_, true);
  now_ += milliseconds(500);
  penalties_.Impose(kAddress, now_, true);
  EXPECT_TRUE(penalties_.WasDefied(kAddress, now_));
  ServedSeconds();
  penalties_.Impose(kAddress, now_, false);
  EXPECT_FALSE(penalties_.WasDefied(kAddress, now_));
  EXPECT_EQ(ServedSeconds(), 1);
}

TEST_F(PenaltiesTest, OneThatDoesNotCountDoesNotShortenOneThatDoes) {
  for (const int length : {1, 2, 4}) {
    penalties_.Impose(kAddress, now_, true);
    penalties_.Impose(kAddress, now_, false);
    EXPECT_EQ(ServedSeconds(), length);
  }
}

}  // namespace
}  // namespace halograph::server

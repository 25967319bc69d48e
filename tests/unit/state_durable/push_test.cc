// What pushes do to rows, and how often.
#include "tests/unit/state_durable/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class StorePushTest : public StoreTest {};

TEST_F(StorePushTest, RowsBeginAsTheirOriginalIdsSay) {
  OpenWith(Embedding());
  EXPECT_EQ(PullAll(), Expected({}));
}

TEST_F(StorePushTest, AsynchronousPushesAreAppliedInTheOrderOfTheLog) {
  OpenWith(Embedding());
  std::vector<std::vector<TestPush>> applied;
  for (uint64_t i = 1; i <= 5; ++i) {
    applied.push_back({RandomPush(1, i)});
    EXPECT_EQ(MustPush(applied.back()[0]).lsn, static_cast<int64_t>(i));
  }
  EXPECT_EQ(PullAll(5), Expected(applied));
}

TEST_F(StorePushTest, PushesSurviveReopeningOverManySegments) {
  OpenWith(Embedding());
  std::vector<std::vector<TestPush>> applied;
  for (uint64_t i = 1; i <= 60; ++i) {
    applied.push_back({RandomPush(1, i, 300)});
    MustPush(applied.back()[0]);
  }
  MustOpen();
  EXPECT_EQ(store_->stats().replayed_pushes, 60);
  EXPECT_EQ(PullAll(60), Expected(applied));
  applied.push_back({RandomPush(1, 61)});
  EXPECT_EQ(MustPush(applied.back()[0]).lsn, 61);
  MustOpen();
  EXPECT_EQ(PullAll(61), Expected(applied));
}

TEST_F(StorePushTest, StepIsAppliedInTheOrderOfRanksWhateverTheArrival) {
  const std::vector<std::vector<int>> arrivals = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
  std::vector<std::vector<TestPush>> applied;
  for (int64_t step = 5; step < 8; ++step) {
    applied.push_back({StepPush(step, 0, 3), StepPush(step, 1, 3), StepPush(step, 2, 3)});
  }
  OpenWith(Embedding());
  int64_t lsn = 0;
  for (size_t s = 0; s < 3; ++s) {
    for (const int rank : arrivals[s]) lsn = MustPush(applied[s][static_cast<size_t>(rank)]).lsn;
  }
  EXPECT_EQ(PullAll(lsn), Expected(applied));
  EXPECT_EQ(store_->Describe({false, "node", "emb"})->step, 7);
  MustOpen();
  EXPECT_EQ(PullAll(lsn), Expected(applied));
}

TEST_F(StorePushTest, RepeatedPushIsAppliedOnceBeforeAndAfterReopening) {
  OpenWith(Embedding());
  const TestPush push = RandomPush(1, 1);
  EXPECT_FALSE(MustPush(push).repeated);
  EXPECT_TRUE(MustPush(push).repeated);
  MustOpen();
  const PushReceipt again = MustPush(push);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.lsn, 1);
  EXPECT_EQ(PullAll(), Expected({{push}}));
}

}  // namespace
}  // namespace halograph

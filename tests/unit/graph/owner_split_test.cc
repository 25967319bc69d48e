#include "common/graph/owner_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/graph/partition_book.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Parts of 3, 0, 2 and 5 ids.
const std::vector<int64_t> kBoundaries = {0, 3, 3, 5, 10};

TEST(OwnerSplitTest, SharesKeepTheListsOrderAndRepeats) {
  OwnerSplit split;
  const std::vector<int64_t> ids = {9, 0, 4, 9, 2, 5};
  ASSERT_EQ(split.Split(kBoundaries, std::vector<int>{0, 0, 1, 0}, 3, ids), -1);
  ASSERT_EQ(split.shares().size(), 3U);
  EXPECT_THAT(split.share(0).ids, ElementsAre(9, 0, 9, 2, 5));
  EXPECT_THAT(split.share(0).positions, ElementsAre(0, 1, 3, 4, 5));
  EXPECT_THAT(split.share(1).ids, ElementsAre(4));
  EXPECT_THAT(split.share(1).positions, ElementsAre(2));
  EXPECT_THAT(split.share(2).ids, IsEmpty());
}

TEST(OwnerSplitTest, PositionsGivenTravelWithTheirIds) {
  OwnerSplit split;
  const std::vector<int64_t> ids = {9, 0, 4};
  const std::vector<int64_t> positions = {70, 50, 60};
  ASSERT_EQ(split.Split(kBoundaries, std::vector<int>{1, 1, 1, 0}, 2, ids, positions), -1);
  EXPECT_THAT(split.share(0).positions, ElementsAre(70));
  EXPECT_THAT(split.share(1).positions, ElementsAre(50, 60));
}

TEST(OwnerSplitTest, APartThatNobodyAnswersForIsNamedAndLeavesNoShares) {
  OwnerSplit split;
  const std::vector<int> targets = {0, 0, -1, 0};
  ASSERT_EQ(split.Split(kBoundaries, targets, 1, std::vector<int64_t>{1, 9}), -1);
  EXPECT_EQ(split.Split(kBoundaries, targets, 1, std::vector<int64_t>{1, 4, 9}), 2);
  EXPECT_THAT(split.shares(), IsEmpty());
  ASSERT_EQ(split.Split(kBoundaries, targets, 1, {}), -1);
  EXPECT_THAT(split.share(0).ids, IsEmpty());
}

TEST(OwnerSplitTest, UsedAgainItGivesWhatAFreshOneGives) {
  CounterRng rng(Mix(4));
  OwnerSplit used;
  for (const size_t count : {100, 7, 0, 300}) {
    std::vector<int64_t> ids(count);
    for (int64_t& id : ids) id = static_cast<int64_t>(rng.NextBounded(10));
    const std::vector<int> targets = {2, 0, 1, 0};
    OwnerSplit fresh;
    ASSERT_EQ(used.Split(kBoundaries, targets, 3, ids), -1);
    ASSERT_EQ(fresh.Split(kBoundaries, targets, 3, ids), -1);
    size_t all = 0;
    for (int target = 0; target < 3; ++target) {
      const IdShare& share = used.share(target);
      EXPECT_TRUE(std::ranges::equal(share.ids, fresh.share(target).ids));
      for (size_t i = 0; i < share.ids.size(); ++i) {
        EXPECT_EQ(share.ids[i], ids[static_cast<size_t>(share.positions[i])]);
        EXPECT_EQ(targets[static_cast<size_t>(FindRange(kBoundaries, share.ids[i]))], target);
      }
      all += share.ids.size();
    }
    EXPECT_EQ(all, count);
  }
}

TEST(CheckIdRangeTest, NamesTheFirstIdOutsideItsPositionAndTheCount) {
  EXPECT_TRUE(CheckIdRange(std::vector<int64_t>{0, 9, 9}, 10, "node paper").ok());
  EXPECT_TRUE(CheckIdRange({}, 0, "node paper").ok());
  const Status above = CheckIdRange(std::vector<int64_t>{3, 10, -1}, 10, "node paper");
  EXPECT_EQ(above.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(above), HasSubstr("node paper: id 10 at position 1 is outside its 10 rows"));
  const Status below = CheckIdRange(std::vector<int64_t>{-1}, 10, "node paper");
  EXPECT_THAT(Message(below), HasSubstr("id -1 at position 0"));
}

}  // namespace
}  // namespace halograph

// What a planner does by cases that can be followed by hand, and with input that is wrong.
#include "client/cached/planner.h"

#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Planner> LookAheadOf(int64_t rows, int64_t slots,
                                     std::vector<uint8_t> classes = {}) {
  auto planner =
      MakeLookAheadPlanner({.rows = rows, .slots = slots, .classes = std::move(classes)});
  EXPECT_TRUE(planner.ok()) << planner.status();
  return *std::move(planner);
}

void Announce(Planner& planner, const std::vector<std::vector<int64_t>>& steps) {
  for (const auto& ids : steps) {
    const Status status = planner.Announce(planner.announced(), ids);
    ASSERT_TRUE(status.ok()) << status;
  }
}

StepPlan Next(Planner& planner) {
  StepPlan plan;
  const Status status = planner.PlanNext(&plan);
  EXPECT_TRUE(status.ok()) << status;
  return plan;
}

// Positions of the next step that miss.
std::vector<int32_t> Missing(Planner& planner) {
  std::vector<int32_t> positions;
  for (const PlannedMiss& miss : Next(planner).misses) positions.push_back(miss.position);
  return positions;
}

TEST(LookAheadPlannerTest, KeepsWhatIsNeededSoonestAndFetchesTheRestInPassing) {
  const auto planner = LookAheadOf(10, 2);
  Announce(*planner, {{0, 1, 2}, {1}, {2, 0}, {0}});
  const StepPlan first = Next(*planner);
  EXPECT_EQ(first.misses.size(), 3U);
  EXPECT_NE(first.slots[1], kNoSlot);
  // Rows 0 and 2 are both of step 2: one of them stays.
  EXPECT_EQ((first.slots[0] == kNoSlot) + (first.slots[2] == kNoSlot), 1);
  EXPECT_EQ(first.evicted, 0);
  EXPECT_TRUE(first.closed);
  EXPECT_THAT(Missing(*planner), ElementsAre());
  EXPECT_EQ(Missing(*planner).size(), 1U);
  EXPECT_THAT(Missing(*planner), ElementsAre());
}

TEST(LookAheadPlannerTest, ASlotThatIsTakenWaitsForItsLastReader) {
  const auto planner = LookAheadOf(10, 1);
  Announce(*planner, {{0}, {0}, {1}, {1}});
  EXPECT_EQ(Next(*planner).write_after, kNoStep);
  EXPECT_EQ(Next(*planner).read_after, 0);
  const StepPlan third = Next(*planner);
  EXPECT_EQ(third.write_after, 1);
  EXPECT_EQ(third.evicted, 1);
  EXPECT_EQ(Next(*planner).read_after, 2);
}

TEST(LookAheadPlannerTest, AStepMayTakeTheSlotOfItsOwnHit) {
  const auto planner = LookAheadOf(10, 1);
  Announce(*planner, {{0}, {0, 1}, {1}});
  Next(*planner);
  const StepPlan second = Next(*planner);
  EXPECT_EQ(second.slots[0], second.slots[1]);
  EXPECT_THAT(second.misses, ElementsAre(PlannedMiss{1, 0}));
  EXPECT_EQ(second.write_after, kNoStep) << "it reads its hits before it stores";
}

TEST(LookAheadPlannerTest, BeyondTheWindowTheHigherClassStays) {
  const auto planner = LookAheadOf(6, 2, {1, 5, 3, 9, 0, 1});
  Announce(*planner, {{0, 1, 2}});
  EXPECT_THAT(Next(*planner).slots, ElementsAre(kNoSlot, 0, 1));
  Announce(*planner, {{3, 4}});  // 3 goes in for 2, 4 passes
  EXPECT_THAT(Next(*planner).slots, ElementsAre(1, kNoSlot));
  Announce(*planner, {{1, 3}, {0, 5}, {5}});  // a known use goes before any class
  EXPECT_THAT(Missing(*planner), ElementsAre());
  EXPECT_THAT(Next(*planner).slots, ElementsAre(kNoSlot, 0));
}

TEST(LookAheadPlannerTest, TheCertificateSaysWhetherAnyLaterStepCouldMatter) {
  const auto planner = LookAheadOf(10, 2);
  EXPECT_FALSE(planner->closed()) << "there is nothing to plan";
  Announce(*planner, {{0, 1}});
  EXPECT_TRUE(planner->closed()) << "there is room for all";
  Next(*planner);
  Announce(*planner, {{2}});
  EXPECT_FALSE(planner->closed());
  Announce(*planner, {{0}});
  EXPECT_FALSE(planner->closed()) << "1 or 2 may come next";
  Announce(*planner, {{2}});
  EXPECT_TRUE(planner->closed());
  EXPECT_THAT(Next(*planner).slots, ElementsAre(1));
}

TEST(LookAheadPlannerTest, StepsWithoutIdsArePlanned) {
  const auto planner = LookAheadOf(10, 2);
  Announce(*planner, {{}, {3}, {}, {3}});
  EXPECT_THAT(Missing(*planner), ElementsAre());
  EXPECT_THAT(Missing(*planner), ElementsAre(0));
  EXPECT_THAT(Missing(*planner), ElementsAre());
  EXPECT_THAT(Missing(*planner), ElementsAre());
}

TEST(LookAheadPlannerTest, ACacheSmallerThanOneStepIsOfUse) {
  const auto planner = LookAheadOf(100, 1);
  Announce(*planner, {{5, 6, 7, 8}, {8, 5, 9}, {5, 1}});
  EXPECT_EQ(Missing(*planner).size(), 4U);
  EXPECT_EQ(Missing(*planner).size(), 2U);
  EXPECT_EQ(Missing(*planner).size(), 1U);
}

class BadPlanInputTest : public testing::TestWithParam<bool> {
 protected:
  static std::unique_ptr<Planner> Make() {
    if (!GetParam()) return LookAheadOf(10, 2);
    auto planner = MakeStaticPlanner(std::vector<float>(10, 1.0F), 2);
    EXPECT_TRUE(planner.ok()) << planner.status();
    return *std::move(planner);
  }
};

TEST_P(BadPlanInputTest, AnErrorOfAnnounceChangesNothing) {
  const auto planner = Make();
  const auto other = Make();
  Announce(*planner, {{0, 1}, {1, 2}});
  Announce(*other, {{0, 1}, {1, 2}});
  EXPECT_EQ(Next(*planner).slots, Next(*other).slots);
  const auto refused = [&](int64_t step, const std::vector<int64_t>& ids) {
    return planner->Announce(step, ids);
  };
  const Status outside = refused(2, {3, 10});
  EXPECT_EQ(outside.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(outside), HasSubstr("step 2"));
  EXPECT_THAT(Message(outside), HasSubstr("10"));
  EXPECT_EQ(refused(2, {-1}).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(refused(1, {3}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(refused(3, {3}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused(-1, {3}).code(), absl::StatusCode::kInvalidArgument);
  const Status twice = refused(2, {0, 1, 2, 3, 1, 4});
  EXPECT_EQ(twice.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(twice), HasSubstr("id 1 at position 4"));
  for (const std::vector<int64_t>& ids :
       {std::vector<int64_t>{0, 1, 2}, std::vector<int64_t>{4, 3}, std::vector<int64_t>{1}}) {
    Announce(*planner, {ids});
    Announce(*other, {ids});
  }
  for (int step = 1; step < 5; ++step) {
    const StepPlan plan = Next(*planner);
    const StepPlan expected = Next(*other);
    EXPECT_EQ(plan.slots, expected.slots) << step;
    EXPECT_EQ(plan.misses, expected.misses) << step;
  }
}

TEST_P(BadPlanInputTest, NothingIsPlannedThatWasNotAnnounced) {
  const auto planner = Make();
  StepPlan plan;
  EXPECT_EQ(planner->PlanNext(&plan).code(), absl::StatusCode::kFailedPrecondition);
  Announce(*planner, {{1}});
  Next(*planner);
  const Status status = planner->PlanNext(&plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("step 1"));
}

INSTANTIATE_TEST_SUITE_P(Planners, BadPlanInputTest, testing::Bool(),
                         [](const auto& made) { return made.param ? "Static" : "LookAhead"; });

TEST(PlannerOptionsTest, WithoutRoomThereIsNoPlanner) {
  EXPECT_EQ(MakeLookAheadPlanner({.rows = 5, .slots = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeStaticPlanner(std::vector<float>(5), 0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeLookAheadPlanner({.rows = -1, .slots = 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeLookAheadPlanner({.rows = int64_t{1} << 32, .slots = 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeLookAheadPlanner({.rows = 5, .slots = int64_t{1} << 31}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PlannerOptionsTest, ClassesFitTheRows) {
  EXPECT_EQ(MakeLookAheadPlanner({.rows = 2, .slots = 1, .classes = {1, 2, 3}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeLookAheadPlanner({.rows = 2, .slots = 1, .classes = {1, 64}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RankClassesTest, AnyWeightHasAClass) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> weights = {
      0,          -1,     std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 1024,
      1024 / 2.F, 1e-30F, std::numeric_limits<float>::denorm_min()};
  EXPECT_THAT(RankClasses(weights),
              ElementsAre(0, 0, 0, kRowClasses - 1, 0, kRowClasses - 2, kRowClasses - 5, 1, 1));
  EXPECT_THAT(RankClasses(std::vector<float>{kInfinity, 0}), ElementsAre(kRowClasses - 1, 0));
  EXPECT_THAT(RankClasses(std::vector<float>{std::numeric_limits<float>::max(),
                                             std::numeric_limits<float>::denorm_min()}),
              ElementsAre(kRowClasses - 2, 1));
  EXPECT_TRUE(RankClasses({}).empty());
}

TEST(StaticPlannerTest, KeepsTheHighestRankedAndNothingThatHasNoRank) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto planner =
      MakeStaticPlanner(std::vector<float>{0, nan, 2, infinity, 2, -infinity, 1}, 2);
  ASSERT_TRUE(planner.ok()) << planner.status();
  Announce(**planner, {{0, 1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1, 0}});
  EXPECT_THAT(Next(**planner).slots,
              ElementsAre(kNoSlot, kNoSlot, 0, 1, kNoSlot, kNoSlot, kNoSlot));
  EXPECT_THAT(Missing(**planner), ElementsAre(0, 1, 2, 5, 6));
  const auto none = MakeStaticPlanner(std::vector<float>(3), 2);
  ASSERT_TRUE(none.ok()) << none.status();
  Announce(**none, {{0, 1}, {0}});
  EXPECT_THAT(Missing(**none), ElementsAre(0, 1));
  EXPECT_THAT(Missing(**none), ElementsAre(0));
}

TEST(UsableSlotsTest, CountWhatPlanningTakes) {
  EXPECT_EQ(UsableSlots(0, 400), 0);
  EXPECT_EQ(UsableSlots(400, 400), 0);
  EXPECT_EQ(UsableSlots(400 + kPlanBytesASlot, 400), 1);
  EXPECT_EQ(UsableSlots(10 * (400 + kPlanBytesASlot) - 1, 400), 9);
  EXPECT_EQ(UsableSlots(1000, std::numeric_limits<size_t>::max()), 0);
  EXPECT_TRUE(MakeLookAheadPlanner({.rows = 1, .slots = 1}).ok());
  EXPECT_LT(UsableSlots(std::numeric_limits<size_t>::max(), 1), int64_t{1} << 31);
}

}  // namespace
}  // namespace halograph

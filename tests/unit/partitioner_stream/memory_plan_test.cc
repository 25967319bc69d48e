// What --memory promises: the largest phase counts, and a refusal says what would do.
#include "partitioner/stream/memory_plan.h"

#include <gmock/gmock.h>

namespace halograph {
namespace {

using testing::HasSubstr;

MemoryPlan TwoPhases() {
  return {{{"counting", {{"degrees", 1000}, {"owners", 500}}},
           {"clustering", {{"volumes", int64_t{64} << 20}, {"clusters", int64_t{128} << 20}}}}};
}

TEST(MemoryPlanTest, PeakIsTheLargestPhaseNotTheSum) {
  EXPECT_EQ(TwoPhases().peak_bytes(), int64_t{192} << 20);
  EXPECT_EQ(MemoryPlan{}.peak_bytes(), 0);
  MemoryPlan plan = TwoPhases();
  plan.Append({{{"writing", {{"buffers", int64_t{500} << 20}}}}});
  EXPECT_EQ(plan.peak_bytes(), int64_t{500} << 20);
  EXPECT_THAT(plan.ToText(), HasSubstr("* writing"));
}

TEST(CheckMemoryTest, LimitIsKeptToTheByte) {
  const int64_t needed = TwoPhases().peak_bytes() + kProgramBytes;
  EXPECT_TRUE(CheckMemory(TwoPhases(), needed).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(CheckMemory(TwoPhases(), needed - 1)));
}

TEST(CheckMemoryTest, RefusalNamesTheLeastThatWouldWorkAndWhatTakesMost) {
  const Status status = CheckMemory(TwoPhases(), int64_t{1} << 20);
  EXPECT_THAT(Message(status), HasSubstr("--memory 1.0 MiB"));
  EXPECT_THAT(Message(status), HasSubstr("at least --memory 224MiB"));
  EXPECT_THAT(Message(status), HasSubstr("clustering"));
  EXPECT_THAT(Message(status), HasSubstr("clusters 128.0 MiB, volumes"));
}

TEST(AvailableMemoryTest, IsSomethingOnThisMachine) {
  EXPECT_GT(AvailableMemory(), int64_t{1} << 20);
}

}  // namespace
}  // namespace halograph

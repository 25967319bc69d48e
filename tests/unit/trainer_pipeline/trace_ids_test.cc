#include "trainer/pipeline/trace_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_log.h"

namespace halograph {
namespace {

constexpr StepId kStep = {.purpose = BatchPurpose::kValid, .epoch = 2, .step = 7};

TEST(TraceIdsTest, EachStepOfARunHasAnIdThatNamesIt) {
  const RunTrace run = MakeRunTrace({}, 0x123456789abcdef0);
  EXPECT_EQ(ToString(TraceIdOf(run, 3, kStep)),
            "123456789abcdef0"
            "0003"
            "1"
            "0002"
            "0000007");
  EXPECT_EQ(ToString(TraceIdOf(
                run, 0x12345,
                {.purpose = BatchPurpose::kPredict, .epoch = 0x98765, .step = 0x123456789})),
            "123456789abcdef0"
            "2345"
            "3"
            "8765"
            "3456789");
  EXPECT_FALSE(TraceIdOf(MakeRunTrace("", 0), 0, {}).empty());
}

TEST(TraceIdsTest, ARunThatIsPartOfATraceGoesOnWithIt) {
  const RunTrace run = MakeRunTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", 5);
  for (const int rank : {0, 3}) {
    EXPECT_EQ(ToString(TraceIdOf(run, rank, kStep)), "4bf92f3577b34da6a3ce929d0e0e4736");
  }
}

TEST(TraceIdsTest, WhatIsNoTraceparentIsLeftOutAndNamed) {
  CapturedLog log;
  const RunTrace run = MakeRunTrace("00-4BF9-\n", 5);
  EXPECT_TRUE(run.given.empty());
  EXPECT_EQ(TraceIdOf(run, 3, kStep), TraceIdOf(MakeRunTrace({}, 5), 3, kStep));
  EXPECT_THAT(log.End(), testing::AllOf(testing::HasSubstr("TRACEPARENT"),
                                        testing::HasSubstr("'00-4BF9-\\x0a'")));
}

TEST(TraceIdsTest, IdsOfThisProcessDifferByStepAlone) {
  EXPECT_EQ(TraceIdOf(3, kStep), TraceIdOf(3, kStep));
  EXPECT_NE(TraceIdOf(3, kStep), TraceIdOf(4, kStep));
}

}  // namespace
}  // namespace halograph

// Tests with each instruction set that this processor has.
#pragma once

#include <gtest/gtest.h>

#include "hwy/highway.h"

namespace halograph {

// The parameter is a target of Highway; 0 stands for the best.
class EveryTargetTest : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { UseTarget(GetParam()); }
  void TearDown() override { UseTarget(0); }

  static void UseTarget(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

#define HALOGRAPH_EVERY_TARGET(suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(Targets, suite, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), \
                           [](const auto& test) { return hwy::TargetName(test.param); })

}  // namespace halograph

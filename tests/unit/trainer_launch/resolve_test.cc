#include "trainer/launch/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::HasSubstr;

TEST(ResolveTest, FanoutsOfEvaluationAreThoseOfTrainingUnlessTheyAreGiven) {
  TrainOptions options;
  options.fanouts = {};
  options.relation_fanouts = {{"*", {3, 2}}};
  Resolve(&options);
  EXPECT_EQ(options.AllEvalFanouts(), options.AllFanouts());
  TrainOptions given;
  given.eval_relation_fanouts = {{"*", {3, 2}}};
  Resolve(&given);
  EXPECT_TRUE(given.eval_fanouts.empty());
  given.layers = 3;
  given.graph = "g";
  EXPECT_THAT(Message(Validate(given)), HasSubstr("--fanouts is 15,10: 2 fanouts"));
  given.fanouts = {1, 2, 3};
  EXPECT_THAT(Message(Validate(given)), HasSubstr("--eval-fanouts is *=3:2: 2 fanouts"));
}

}  // namespace
}  // namespace halograph

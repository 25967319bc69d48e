#include "trainer/launch/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/launch/own_port.h"
#include "trainer/options/rank_path.h"

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

TEST(OwnPortTest, ProcessesOfAMachineHavePortsSideBySide) {
  TrainOptions options;
  options.http.listen = "[::]:9200";
  options.http.address_file = "a/run.addr";
  options.local_rank = 3;
  EXPECT_EQ(OwnHttpOptions(options).listen, "[::]:9203");
  EXPECT_EQ(OwnHttpOptions(options).address_file, "a/run.addr") << "of one process";
  options.rank = 7;
  options.world_size = 8;
  EXPECT_EQ(OwnHttpOptions(options).address_file, "a/run.rank7.addr");
  options.http.listen = "localhost:0";
  EXPECT_EQ(OwnHttpOptions(options).listen, "localhost:0") << "each picks a free one";
  EXPECT_EQ(OwnHttpOptions({}).listen, "");
}

TEST(PathOfRankTest, EachOfSeveralRanksHasItsOwn) {
  EXPECT_EQ(PathOfRank("a/trace.json", 0, 1), "a/trace.json");
  EXPECT_EQ(PathOfRank("", 1, 2), "");
  EXPECT_EQ(PathOfRank("a/trace.json", 0, 4), "a/trace.rank0.json");
  EXPECT_EQ(PathOfRank("trace.v2.json", 3, 4), "trace.v2.rank3.json");
  EXPECT_EQ(PathOfRank("a.b/trace", 3, 4), "a.b/trace.rank3");
}

}  // namespace
}  // namespace halograph

#include "trainer/launch/infer_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The options of a run of GAT, as its checkpoint has them.
class TrainedAsTest : public testing::Test {
 protected:
  TrainedAsTest() {
    TrainOptions run;
    run.model = "gat";
    run.layers = 3;
    run.features = {"feat", "more"};
    run.fanouts = {4, 3, 2};
    run.epochs = 70;
    run.seed = 9;
    run.batch_size = 17;
    run.model_options = (*FindModelKind("gat"))->options();
    OptionTable rows;
    run.model_options->AddRows(rows);
    EXPECT_TRUE(rows.Set("heads", "4").ok());
    EXPECT_TRUE(rows.Set("gatv2", "true").ok());
    run.Resolve();
    trained_ = {"graph", "gat", "classes", SharedFacts(run)};
    options_.model = "gat";
    options_.model_options = (*FindModelKind("gat"))->options();
    AddTrainRows(rows_, &options_);
  }

  TrainedAs trained_;
  TrainOptions options_;
  OptionTable rows_;
};

TEST_F(TrainedAsTest, OptionsAreThoseOfTheRunButForItsLengthAndRanks) {
  const Status applied = ApplyTrainedAs(trained_, rows_, &options_);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(options_.task, "classes");
  EXPECT_EQ(options_.layers, 3);
  EXPECT_THAT(options_.features, testing::ElementsAre("feat", "more"));
  EXPECT_THAT(options_.fanouts, testing::ElementsAre(4, 3, 2));
  EXPECT_EQ(options_.seed, 9);
  EXPECT_EQ(rows_.Find("heads")->Text(), "4");
  EXPECT_EQ(rows_.Find("gatv2")->Text(), "true");
  EXPECT_EQ(options_.epochs, 0);
  EXPECT_EQ(options_.world_size, 1);
  EXPECT_FALSE(rows_.given("layers"));
  EXPECT_TRUE(CheckTrainedAs(trained_, rows_, options_).ok());
}

TEST_F(TrainedAsTest, WhatTheWeightsMeanMayNotDifferAndTheRestMay) {
  ASSERT_TRUE(ApplyTrainedAs(trained_, rows_, &options_).ok());
  ASSERT_TRUE(rows_.Set("seed", "1").ok());
  ASSERT_TRUE(rows_.Set("eval-batch-size", "99").ok());
  EXPECT_TRUE(CheckTrainedAs(trained_, rows_, options_).ok());
  ASSERT_TRUE(rows_.Set("heads", "2").ok());
  ASSERT_TRUE(rows_.Set("features", "feat").ok());
  options_.task = "other";
  EXPECT_THAT(
      Message(CheckTrainedAs(trained_, rows_, options_)),
      AllOf(HasSubstr("--heads is 2, not 4"), HasSubstr("--features is feat, not feat,more"),
            HasSubstr("--task is other, not classes"), Not(HasSubstr("seed"))));
  trained_.options["layers"] = "many";
  EXPECT_EQ(ApplyTrainedAs(trained_, rows_, &options_).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace halograph

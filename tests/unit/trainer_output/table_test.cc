#include "trainer/output/table.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Best long before its end, and better than guessing.
RunSummary Good() {
  return {.epochs = 40,
          .epochs_done = 40,
          .stopped = false,
          .best_epoch = 2,
          .loss = 0.25,
          .train = 0.69,
          .metric = "accuracy",
          .share = true,
          .higher_is_better = true,
          .valid = 0.5,
          .test = 0.75,
          .earlier = 0.496,
          .most_frequent = 0.375,
          .train_seconds = 20,
          .eval_seconds = 8,
          .total_seconds = 31,
          .sampled_edges = 3000000,
          .learning_rate = 0.003,
          .warming_up = false,
          .weight_decay = 0,
          .normalized = false};
}

TEST(SummaryTableTest, SaysOfWhichEpochItsFiguresAreAndWhereTheTimeWent) {
  EXPECT_EQ(SummaryTable(Good()),
            "epochs                                   40\n"
            "best epoch by validation                  3   (the next three lines are its own)\n"
            "training loss                        0.2500\n"
            "validation accuracy                  0.5000\n"
            "test accuracy                        0.7500\n"
            "most frequent class                  0.3750   (its share of the test set)\n"
            "training seconds per epoch            0.500\n"
            "evaluation seconds per epoch          0.200\n"
            "seconds in all                       31.000\n"
            "sampled edges per second            150,000\n");
}

TEST(SummaryTableTest, ARunThatALimitEndedNamesIt) {
  RunSummary summary = Good();
  summary.limit = "patience";
  summary.epochs_done = 7;
  EXPECT_THAT(SummaryTable(summary), HasSubstr("7   (of 40: ended by --patience)\n"));
}

TEST(SummaryTableTest, AStoppedRunSaysSoAndAMissingSetIsNone) {
  RunSummary summary = Good();
  summary.stopped = true;
  summary.epochs_done = 7;
  summary.test.reset();
  const std::string table = SummaryTable(summary);
  EXPECT_THAT(table, HasSubstr("7   (of 40: stopped by a signal)\n"));
  EXPECT_THAT(table, HasSubstr("test accuracy                          none\n"));
  EXPECT_THAT(table, HasSubstr("(its share of the validation set)"));
}

TEST(AdviceTest, ARunThatWentWellGetsNone) { EXPECT_THAT(Advice(Good()), IsEmpty()); }

TEST(AdviceTest, NoBetterThanTheMostFrequentClassSaysWhatToTry) {
  RunSummary summary = Good();
  for (const double test : {0.30, 0.375, 0.384}) {
    summary.test = test;
    EXPECT_THAT(Advice(summary),
                ElementsAre("the test accuracy is that of naming always the most frequent class: "
                            "try --lr 0.001 (it was 0.003), more --epochs, or "
                            "--normalize-features row"));
  }
  EXPECT_THAT(SummaryTable(summary), HasSubstr("\nadvice: the test accuracy is that of"));
  summary.normalized = true;
  EXPECT_THAT(Advice(summary)[0], testing::EndsWith("more --epochs"));
  summary.test = 0.386;
  EXPECT_THAT(Advice(summary), IsEmpty());
  summary.test.reset();
  summary.valid = summary.earlier = summary.train = 0.375;
  EXPECT_THAT(Advice(summary), ElementsAre(HasSubstr("the validation accuracy is that")));
}

TEST(AdviceTest, WhereAllRowsAreOfOneClassThereIsNothingMoreToLearn) {
  RunSummary summary = Good();
  summary.train = summary.valid.emplace(1);
  summary.earlier = 1;
  for (const double share : {1.0, 0.995}) {
    summary.test = summary.most_frequent = share;
    EXPECT_THAT(Advice(summary), IsEmpty()) << share;
  }
}

TEST(AdviceTest, ARunThatEndedInItsWarmUpNeedsAShorterOne) {
  RunSummary summary = Good();
  summary.test = 0.375;
  summary.warming_up = true;
  EXPECT_THAT(Advice(summary), ElementsAre(testing::EndsWith(
                                   "the run ended before the learning rate came to --lr 0.003: "
                                   "give fewer --warmup-steps, or more --epochs")));
}

TEST(AdviceTest, ColumnsOfDifferentScalesAreNamedWithWhatToDo) {
  RunSummary summary = Good();
  summary.unlike = UnlikeColumns{.ratio = 23456.7, .wide = "0 of 'alt'", .narrow = "1 of 'place'"};
  EXPECT_THAT(Advice(summary),
              ElementsAre("the inputs are of different scales: the standard deviation of column 0 "
                          "of 'alt' is 23457 times that of column 1 of 'place': "
                          "--normalize-features standard may help"));
  summary.unlike->ratio = 100;
  EXPECT_THAT(Advice(summary), IsEmpty());
}

TEST(AdviceTest, ARunThatWasStillGettingBetterNeedsMoreEpochs) {
  RunSummary summary = Good();
  summary.earlier = 0.494;
  EXPECT_THAT(Advice(summary), ElementsAre(HasSubstr("still getting better at the end")));
  summary.stopped = true;
  EXPECT_THAT(Advice(summary), IsEmpty()) << "the user ended it";
  summary.stopped = false;
  summary.earlier.reset();
  EXPECT_THAT(Advice(summary), IsEmpty()) << "not known";
}

TEST(AdviceTest, DifferencesOfErrorsCountByTheirSize) {
  RunSummary summary = Good();
  summary.metric = "RMSE";
  summary.share = false;
  summary.higher_is_better = false;
  summary.most_frequent.reset();
  summary.train = 950;
  summary.valid = 1000;
  summary.earlier = 1003;
  EXPECT_THAT(Advice(summary), IsEmpty());
  summary.earlier = 1100;
  EXPECT_THAT(Advice(summary), ElementsAre(HasSubstr("more --epochs may lower it")));
  summary.earlier = 1003;
  summary.train = 700;
  EXPECT_THAT(Advice(summary), ElementsAre(HasSubstr("the RMSE is 700.0000 on the training set")));
}

TEST(AdviceTest, ARunThatLearntItsNodesByHeartNeedsWeightDecay) {
  RunSummary summary = Good();
  summary.train = 0.71;
  EXPECT_THAT(Advice(summary),
              ElementsAre("the accuracy is 0.7100 on the training set and 0.5000 on the validation "
                          "set: --weight-decay 0.005, or 0.0005 with --normalize-features row, may "
                          "bring the two together"));
  summary.weight_decay = 0.0005;
  EXPECT_THAT(Advice(summary), IsEmpty());
}

TEST(AdviceTest, AModelThatIsBetterOnTheValidationSetHasLearntNothingByHeart) {
  RunSummary summary = Good();
  summary.train = 0.09;
  EXPECT_THAT(Advice(summary), IsEmpty()) << "dropout is in training alone";
  summary.metric = "RMSE";
  summary.share = summary.higher_is_better = false;
  summary.most_frequent.reset();
  summary.earlier.reset();
  summary.train = 0.9;
  EXPECT_THAT(Advice(summary), IsEmpty());
}

TEST(AdviceTest, LearntInputsThatAreLearntByHeartNeedADecayOfTheirOwn) {
  RunSummary summary = Good();
  summary.train = 1;
  summary.embed_weight_decay = 0;
  const auto only = [&] { return Advice(summary).empty() ? "" : Advice(summary).front(); };
  EXPECT_THAT(only(), HasSubstr("set: --weight-decay 0.0005 and --embed-weight-decay 0.0005 may "));
  summary.own_inputs_by = "--rgcn-input featureless";
  EXPECT_THAT(only(), HasSubstr("--embed-weight-decay 0.0005, or --rgcn-input featureless may "
                                "bring the two together"));
  summary.weight_decay = 0.0005;
  EXPECT_THAT(only(), HasSubstr("set: --embed-weight-decay 0.0005, or --rgcn-input"));
  summary.embed_weight_decay = 0.0005;
  EXPECT_THAT(only(), HasSubstr("set: --rgcn-input featureless may bring"));
  summary.own_inputs_by = "";
  EXPECT_THAT(Advice(summary), IsEmpty());
}

TEST(AdviceTest, AMetricThatIsNotToBeComparedGivesNoAdvice) {
  RunSummary summary = Good();
  summary.train = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Advice(summary), IsEmpty());
}

}  // namespace
}  // namespace halograph

#include "trainer/checkpoint/files/trained_on.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TrainedOn Trained() {
  TrainedOn trained;
  trained.node_types = {
      {.name = "author", .features = {}, .learnt = 64},
      {.name = "paper", .features = {{"feat", "float32", 100}, {"year", "int16", 1}}}};
  trained.relations = {"author:writes:paper", "paper:cites:paper"};
  trained.outputs = 7;
  return trained;
}

std::string Refused(const TrainedOn& here) {
  const Status status = CheckFits(Trained(), here, "run/step-000000003");
  EXPECT_EQ(absl::StatusCode::kFailedPrecondition, status.code());
  return Message(status);
}

TEST(TrainedOnTest, TheSameFitsAndComesBackFromJson) {
  EXPECT_TRUE(CheckFits(Trained(), Trained(), "run").ok());
  EXPECT_TRUE(Trained().learns_rows());
  const auto read = TrainedOnFromJson(ToJson(Trained()), "run");
  ASSERT_TRUE(read.ok()) << ToString(read.status());
  EXPECT_EQ(ToJson(Trained()), ToJson(*read));
  EXPECT_TRUE(CheckFits(Trained(), *read, "run").ok());
}

TEST(TrainedOnTest, AnotherWidthNamesTypeFeatureAndBoth) {
  TrainedOn here = Trained();
  here.node_types[1].features[0].width = 128;
  EXPECT_THAT(Refused(here),
              AllOf(HasSubstr("run/step-000000003: its weights do not fit this graph"),
                    HasSubstr("feature 'feat' of node type 'paper' was 100 wide (float32), here it "
                              "is 128 wide (float32)"),
                    Not(HasSubstr("year"))));
  here = Trained();
  here.node_types[1].features[1].dtype = "float32";
  EXPECT_THAT(Refused(here), HasSubstr("feature 'year' of node type 'paper' was 1 wide (int16), "
                                       "here it is 1 wide (float32)"));
}

TEST(TrainedOnTest, LearntRowsAndFeaturesAreNotTheSame) {
  TrainedOn here = Trained();
  here.node_types[0] = {.name = "author", .features = {{"feat", "float32", 64}}};
  EXPECT_THAT(Refused(here), HasSubstr("the inputs of node type 'author' were rows learnt by node, "
                                       "64 wide, here 'feat', 64 wide (float32)"));
  here.node_types[0] = {.name = "author", .features = {}, .learnt = 32};
  EXPECT_THAT(Refused(here), HasSubstr("here rows learnt by node, 32 wide"));
}

TEST(TrainedOnTest, TypesRelationsAndOutputsAreNamed) {
  TrainedOn here = Trained();
  here.node_types.push_back({.name = "venue", .features = {}});
  here.relations = {"author:writes:paper", "venue:has:paper"};
  here.outputs = 5;
  EXPECT_THAT(Refused(here),
              AllOf(HasSubstr("node type 'venue' was not in the run's graph"),
                    HasSubstr("relation 'paper:cites:paper' is not in this graph"),
                    HasSubstr("relation 'venue:has:paper' was not in the run's graph"),
                    HasSubstr("the task had 7 outputs (classes, or values), here 5")));
}

TEST(TrainedOnTest, AFieldThatIsMissingIsNamed) {
  Json json = ToJson(Trained());
  json.erase("outputs");
  EXPECT_THAT(Message(TrainedOnFromJson(json, "run").status()), HasSubstr("'outputs'"));
}

}  // namespace
}  // namespace halograph

#include "trainer/options/fanouts.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Relations `by` and `cites` have names of their own, `writes` stands twice.
Schema TypedGraph() {
  return {.graph_name = "typed",
          .node_types = {{.name = "author", .count = 5, .features = {}},
                         {.name = "editor", .count = 5, .features = {}},
                         {.name = "paper", .count = 9, .features = {}}},
          .relations = {{"author", "writes", "paper", 3, {}},
                        {"editor", "writes", "paper", 3, {}},
                        {"paper", "by", "author", 3, {}},
                        {"paper", "cites", "paper", 3, {}}},
          .tasks = {}};
}

// By layer, then by relation.
std::vector<std::vector<int32_t>> Chosen(std::string_view text, const Schema& schema) {
  const auto fanouts = ParseFanouts(text);
  EXPECT_TRUE(fanouts.ok()) << fanouts.status();
  const auto spec = ChooseFanouts("--fanouts", *fanouts, schema, true);
  EXPECT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(ValidateRequest(schema, {.spec = &*spec}).ok());
  std::vector<std::vector<int32_t>> found;
  for (const auto& layer : spec->layers) {
    found.emplace_back();
    for (const RelationRule& relation : layer) {
      EXPECT_TRUE(relation.rule.replace);
      found.back().push_back(relation.rule.fanout);
    }
  }
  return found;
}

Status Refused(std::string_view text, int64_t layers = 2) {
  const auto fanouts = ParseFanouts(text);
  if (!fanouts.ok()) return fanouts.status();
  const Status checked = CheckFanouts("--fanouts", *fanouts, layers);
  if (!checked.ok()) return checked;
  return ChooseFanouts("--fanouts", *fanouts, TypedGraph(), false).status();
}

using ByLayer = std::vector<std::vector<int32_t>>;

TEST(FanoutsTest, NumbersAloneAreOfEveryRelation) {
  EXPECT_EQ(Chosen("15,-1", TypedGraph()), (ByLayer{{15, 15, 15, 15}, {-1, -1, -1, -1}}));
}

TEST(FanoutsTest, RelationsAreNamedByNameOrByTripleWithADefaultForTheOthers) {
  const ByLayer wanted = {{5, 7, 10, 5}, {6, 8, -1, 6}};
  EXPECT_EQ(Chosen("by=10:-1,*=5:6,editor:writes:paper=7:8", TypedGraph()), wanted);
  EXPECT_EQ(Chosen("5,by=10:-1,6,editor:writes:paper=7:8", TypedGraph()), wanted);
  EXPECT_EQ(
      Chosen("by=10:-1,author:writes:paper=5:6,cites=5:6,editor:writes:paper=7:8", TypedGraph()),
      wanted);
}

TEST(FanoutsTest, NamesMayHaveSigns) {
  Schema schema = TypedGraph();
  schema.relations[2].name = "a=b";
  EXPECT_EQ(Chosen("a=b=3,*=1", schema), (ByLayer{{1, 1, 3, 1}}));
}

TEST(FanoutsTest, TextAndLogAreWhatWasGiven) {
  for (const std::string text : {"15,10", "5", "by=10:5,*=3:2", "3,2,by=10:5,cites=0:-1"}) {
    EXPECT_EQ(FanoutsText(*ParseFanouts(text)), text);
  }
  EXPECT_EQ(FanoutsJson(*ParseFanouts("15,10")), Json({15, 10}));
  EXPECT_EQ(FanoutsJson(*ParseFanouts("by=10:5,*=3:2")), Json("by=10:5,*=3:2"));
  EXPECT_EQ(FanoutsJson({}), Json::array());
}

TEST(FanoutsTest, ARelationThatIsNotThereIsAnsweredWithThoseThatAre) {
  const Status status = Refused("sites=5:5,*=1:1");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("--fanouts: no relation 'sites'"), HasSubstr("'author:writes:paper'"),
                    HasSubstr("'paper:cites:paper'")));
}

TEST(FanoutsTest, WhatCannotBeMeantIsRefused) {
  const std::map<std::string, std::string> refusals = {
      {"writes=5:5,*=1:1",
       "2 relations are named 'writes': write one of 'author:writes:paper', "
       "'editor:writes:paper'"},
      {"by=5:5,by=4:4", "'by' is named twice"},
      {"by=5:5,paper:by:author=4:4,*=1:1", "relation 'paper:by:author' is named twice"},
      {"*=5:5,*=4:4", "'*' is named twice"},
      {"5,5,*=4:4", "5,5 stands beside *="},
      {"by=5:5,cites=1:1",
       "no fanout for 'author:writes:paper', 'editor:writes:paper': add "
       "*=0:0"},
      {"5", "--fanouts is 5: 1 fanouts, expected one for each of 2 layers (--layers)"},
      {"5,5,by=1", "--fanouts is by=1: 1 fanouts, expected one for each of 2 layers"},
      {"by=1:2:3,*=1:1", "--fanouts is by=1:2:3: 3 fanouts"},
      {"5,x", "'x' is no fanout"},
      {"5,", "'' is no fanout"},
      {"by=5:", "'' is no fanout"},
      {"by=,*=1:1", "'' is no fanout"},
      {"=5:5,*=1:1", "'=5:5' names no relation"},
      {"by=5:-2,*=1:1", "fanout -2 is outside"},
      {"99999999999", "'99999999999' is no fanout"},
      {"5,2000000", "fanout 2000000 is outside"}};
  for (const auto& [text, message] : refusals) {
    EXPECT_THAT(Message(Refused(text)), HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace halograph

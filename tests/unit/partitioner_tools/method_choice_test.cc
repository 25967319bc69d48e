#include <gmock/gmock.h>

#include "partitioner/methods/registry/auto_method.h"
#include "partitioner/methods/registry/registry.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

GraphCounts Counts(int64_t nodes, int64_t edges) {
  GraphCounts counts;
  counts.nodes = {nodes};
  counts.relations = {{.source_type = 0, .destination_type = 0, .edges = edges}};
  return counts;
}

TEST(ChooseMethodTest, GraphThatFitsIsForMetis) {
  const MethodChoice choice = ChooseMethod(Counts(1000, 10000), {});
  EXPECT_EQ(choice.method, "metis");
  EXPECT_THAT(choice.why, HasSubstr("fits"));
}

TEST(ChooseMethodTest, MoreNodesThanThirtyTwoBitsAreStreamed) {
  EXPECT_EQ(ChooseMethod(Counts(2147483647, 10), {}).method, "metis");
  const MethodChoice choice = ChooseMethod(Counts(2147483648, 10), {});
  EXPECT_EQ(choice.method, "stream-metis");
  EXPECT_THAT(choice.why, HasSubstr("2,147,483,648 nodes"));
}

TEST(ChooseMethodTest, MoreNeighboursThanThirtyTwoBitsAreStreamed) {
  EXPECT_EQ(ChooseMethod(Counts(1000, 1073741823), {}).method, "metis");
  const MethodChoice choice = ChooseMethod(Counts(1000, 1073741824), {});
  EXPECT_EQ(choice.method, "stream-metis");
  EXPECT_THAT(choice.why, HasSubstr("1,073,741,824 edges"));
}

TEST(ChooseMethodTest, MoreMemoryThanMayBeHeldIsStreamed) {
  MethodOptions options;
  const GraphCounts counts = Counts(1'000'000, 16'000'000);
  options.memory = kProgramBytes + (*MakeMethod("metis"))->PlanMemory(counts, options).peak_bytes();
  EXPECT_EQ(ChooseMethod(counts, options).method, "metis");
  --options.memory;
  const MethodChoice choice = ChooseMethod(counts, options);
  EXPECT_EQ(choice.method, "stream-metis");
  EXPECT_THAT(choice.why, HasSubstr("METIS would hold"));
}

TEST(AutoMethodTest, IsTheChosenMethodAndSaysSo) {
  DatasetBuilder builder;
  builder.Nodes("node", 400).Edges("node", "edge", "node", RingsOfNodes(4, 100));
  const MethodOptions options{.parts = 4, .seed = 3};
  const auto automatic = (*MakeMethod("auto"))->Assign(builder.dataset(), options);
  ASSERT_TRUE(automatic.ok()) << automatic.status();
  EXPECT_EQ(automatic->owners, (*MakeMethod("metis"))->Assign(builder.dataset(), options)->owners);
  EXPECT_EQ(automatic->report.at("method"), "metis");
  EXPECT_THAT(automatic->report.at("why").get<std::string>(), HasSubstr("fits"));
  EXPECT_TRUE(automatic->report.contains("objective"));
}

TEST(AutoMethodTest, PlansWhatTheChosenMethodPlans) {
  const GraphCounts counts = Counts(5000, 50000);
  EXPECT_EQ((*MakeMethod("auto"))->PlanMemory(counts, {}).ToText(),
            (*MakeMethod("metis"))->PlanMemory(counts, {}).ToText());
}

TEST(AutoMethodTest, IsNoMethodOfItsOwn) {
  EXPECT_THAT(MethodNames(), testing::Not(Contains("auto")));
}

TEST(CheckOptionTakenTest, OptionThatWouldBeIgnoredNamesTheMethodsThatTakeIt) {
  const Status status = CheckOptionTaken("hdrf-lambda", {"metis", "random"});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr("--hdrf-lambda"), HasSubstr("metis, random")));
  for (const std::string& method : MethodsThatTake("hdrf-lambda")) {
    EXPECT_THAT(Message(status), HasSubstr(method));
    EXPECT_TRUE(CheckOptionTaken("hdrf-lambda", {"metis", method}).ok());
  }
}

}  // namespace
}  // namespace halograph

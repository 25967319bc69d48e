#include "partitioner/methods/metis/vertex_weights.h"

#include <gmock/gmock.h>

#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class VertexWeightsTest : public testing::Test {
 protected:
  VertexWeightsTest() {
    builder_.Nodes("a", 2)
        .Nodes("b", 3)
        .Edges("a", "to", "b", {{0, 0}, {1, 0}, {1, 2}})
        .TaskSet("train", "b", false, {2, 2, 0})
        .TaskSet("valid", "a:to:b", true, {0, 1, 1, 1}, 2);
    auto graph = BuildFoldedGraph(builder_.dataset(), false);
    EXPECT_TRUE(graph.ok()) << graph.status();
    graph_ = std::move(graph).value();
  }
  std::vector<std::string> Names(const VertexWeights& weights) {
    std::vector<std::string> names;
    for (const Constraint& constraint : weights.constraints) names.push_back(constraint.name);
    return names;
  }
  DatasetBuilder builder_;
  FoldedGraph graph_;
};

TEST_F(VertexWeightsTest, NodesPerTypeInEdgesAndTaskRowsAtTheirOwners) {
  const auto weights = BuildVertexWeights(builder_.dataset(), graph_, {});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(Names(*weights), ElementsAre("nodes/a", "nodes/b", "edges", "train", "valid"));
  EXPECT_THAT(weights->values, ElementsAre(1, 0, 0, 0, 0,  //
                                           1, 0, 0, 0, 0,  //
                                           0, 1, 2, 1, 0,  //
                                           0, 1, 0, 0, 2,  //
                                           0, 1, 1, 2, 0));
}

TEST_F(VertexWeightsTest, OnlyWhatIsAskedFor) {
  const auto weights =
      BuildVertexWeights(builder_.dataset(), graph_, *BalanceOptions::Parse("edges,test"));
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(Names(*weights), ElementsAre("edges"));  // there are no test nodes
}

TEST_F(VertexWeightsTest, NothingLeftMeansNodesOfAnyType) {
  const auto weights =
      BuildVertexWeights(builder_.dataset(), graph_, *BalanceOptions::Parse("test"));
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(Names(*weights), ElementsAre("nodes"));
  EXPECT_THAT(weights->values, ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(VertexWeightsTest, PlansCountTheConstraintsThatAreChosen) {
  const GraphCounts counts = GraphCounts::Of(builder_.dataset());
  for (const char* balance :
       {"nodes,edges,train,valid,test", "edges,test", "train,valid", "test"}) {
    const BalanceOptions options = *BalanceOptions::Parse(balance);
    const auto chosen = ChooseConstraints(builder_.dataset(), 3, options);
    EXPECT_EQ(MostConstraints(counts, options), static_cast<int64_t>(chosen.size())) << balance;
  }
  EXPECT_EQ(BalancedSets(counts, *BalanceOptions::Parse("nodes,train,test")), 1);
}

TEST_F(VertexWeightsTest, SumBeyondTheLimitIsRefused) {
  const auto weights = BuildVertexWeights(builder_.dataset(), graph_, {}, 2);
  EXPECT_TRUE(absl::IsResourceExhausted(weights.status()));
  EXPECT_THAT(Message(weights.status()), HasSubstr("nodes/b sums up to 3"));
}

}  // namespace
}  // namespace halograph

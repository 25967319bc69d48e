#include "common/graph/partition.h"

#include <gtest/gtest.h>

#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

TEST(PartitionSetTest, RandomTypedGraphOpensWithContents) {
  const TestFolder folder;
  const auto graph = WriteTestGraph(RandomTypedGraph({}), folder.path() / "graph");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto set = PartitionSet::Open(*graph, {}, VerifyLevel::kContents);
  EXPECT_TRUE(set.ok()) << set.status();
}

}  // namespace
}  // namespace halograph

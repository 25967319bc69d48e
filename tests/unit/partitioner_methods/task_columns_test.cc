#include "partitioner/methods/task_columns.h"

#include <gmock/gmock.h>

#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TaskColumnsTest : public testing::Test {
 protected:
  TaskColumnsTest() {
    builder_.Nodes("a", 5).Nodes("b", 6).Edges("a", "to", "b", {{1, 2}}).Edges("b", "in", "b", {});
  }
  StatusOr<TaskColumns> Resolve() {
    return ResolveTaskColumns(builder_.dataset(), builder_.dataset().tasks[0].sets[0]);
  }
  DatasetBuilder builder_;
};

TEST_F(TaskColumnsTest, NodeIdsAreOwnedByThemselves) {
  builder_.TaskSet("train", "b", false, {5, 2});
  const auto columns = Resolve();
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_THAT(columns->node_types, ElementsAre(1));
  EXPECT_EQ(columns->rows, 2);
  EXPECT_EQ(columns->OwnerId(1), 2);
}

TEST_F(TaskColumnsTest, PairIsOwnedByItsSecondColumn) {
  builder_.TaskSet("train", "a:to:b", true, {1, 2, 3, 4}, 2);
  const auto columns = Resolve();
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_THAT(columns->node_types, ElementsAre(0, 1));
  EXPECT_EQ(columns->owner_type(), 1);
  EXPECT_EQ(columns->OwnerId(1), 4);
}

TEST_F(TaskColumnsTest, WiderTupleIsOwnedByItsFirstColumn) {
  builder_.TaskSet("train", "b:in:b", true, {1, 2, 3, 4, 5, 0}, 3);
  const auto columns = Resolve();
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_THAT(columns->node_types, ElementsAre(1, 1, 1));
  EXPECT_EQ(columns->OwnerId(1), 4);
}

TEST_F(TaskColumnsTest, WiderTupleBetweenDifferentTypesIsInvalid) {
  builder_.TaskSet("train", "a:to:b", true, {1, 2, 3}, 3);
  EXPECT_TRUE(absl::IsInvalidArgument(Resolve().status()));
  EXPECT_THAT(Message(Resolve().status()), HasSubstr("3 columns"));
}

TEST_F(TaskColumnsTest, OneColumnForARelationIsInvalid) {
  builder_.TaskSet("train", "a:to:b", true, {1, 2, 3});
  EXPECT_TRUE(absl::IsInvalidArgument(Resolve().status()));
}

TEST_F(TaskColumnsTest, UnknownTypeIsInvalid) {
  builder_.TaskSet("train", "c", false, {1});
  EXPECT_THAT(Message(Resolve().status()), HasSubstr("unknown node type c"));
}

}  // namespace
}  // namespace halograph

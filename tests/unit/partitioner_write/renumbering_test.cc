#include "partitioner/write/renumbering.h"

#include <gmock/gmock.h>

#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StatusOr<Renumbering> Renumber(std::vector<std::vector<uint16_t>> owners, int parts) {
  DatasetBuilder builder;
  builder.Nodes("a", 5).Nodes("b", 2);
  Assignment assignment;
  assignment.owners = std::move(owners);
  return Renumbering::Create(builder.dataset(), std::move(assignment), parts);
}

std::vector<int64_t> Values(const GlobalIdArray& ids) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < ids.size(); ++i) values.push_back(ids[i]);
  return values;
}

TEST(RenumberingTest, PartByPartAndAscendingWithinOne) {
  const auto numbering = Renumber({{2, 0, 2, 1, 0}, {0, 0}}, 4);
  ASSERT_TRUE(numbering.ok()) << numbering.status();
  EXPECT_THAT(Values(numbering->GlobalIds(0)), ElementsAre(3, 0, 4, 2, 1));
  EXPECT_THAT(numbering->boundaries()[0], ElementsAre(0, 2, 3, 5, 5));
  EXPECT_THAT(Values(numbering->GlobalIds(1)), ElementsAre(0, 1));
  EXPECT_THAT(numbering->boundaries()[1], ElementsAre(0, 2, 2, 2, 2));
  EXPECT_EQ(numbering->CoreNodes(0, 2), 2);
  EXPECT_EQ(numbering->CoreNodes(0, 3), 0);
}

TEST(RenumberingTest, AssignmentThatDoesNotFitIsInternal) {
  EXPECT_TRUE(absl::IsInternal(Renumber({{0, 0, 0, 0, 0}}, 1).status()));
  EXPECT_TRUE(absl::IsInternal(Renumber({{0, 0, 0, 0}, {0, 0}}, 1).status()));
  const auto beyond = Renumber({{0, 0, 0, 3, 0}, {0, 0}}, 3);
  EXPECT_TRUE(absl::IsInternal(beyond.status()));
  EXPECT_THAT(Message(beyond.status()), HasSubstr("node 3 of type a has owner 3"));
}

}  // namespace
}  // namespace halograph

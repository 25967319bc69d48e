#include "trainer/seeds/whole_parts.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::ElementsAre;

constexpr int kAuthor = 0, kPaper = 1, kVenue = 2, kYear = 3;

// Authors cite nobody, papers are written by authors and cite papers, venues read papers that no
// paper reads back, and years are in a relation without edges. Three parts; the second has no row.
GraphInfo Info() {
  GraphInfo info;
  for (const auto& [name, count] :
       {std::pair{"author", 7}, {"paper", 12}, {"venue", 4}, {"year", 2}}) {
    info.schema.node_types.push_back({.name = name, .count = count, .features = {}});
  }
  const auto relation = [&](const char* from, const char* name, const char* to, int64_t count) {
    info.schema.relations.push_back(
        {.source = from, .name = name, .destination = to, .count = count, .features = {}});
  };
  relation("author", "writes", "paper", 9);
  relation("paper", "cites", "paper", 9);
  relation("paper", "in", "venue", 9);
  relation("year", "of", "paper", 0);
  const auto book =
      PartitionBook::Create(info.schema, {{0, 2, 4, 7}, {0, 4, 6, 12}, {0, 1, 2, 4}, {0, 1, 2, 2}},
                            {{0, 3, 6, 9}, {0, 3, 6, 9}, {0, 3, 6, 9}, {0, 0, 0, 0}});
  EXPECT_TRUE(book.ok()) << ToString(book.status());
  info.book = *book;
  info.task_rows = {{{0, 3, 3, 3}, {0, 0, 0, 5}}, {{0, 0, 9, 9}}};
  return info;
}

std::vector<int64_t> IdsOf(const NodesOfType& nodes) {
  std::vector<int64_t> ids;
  for (const IdRange& range : nodes.ids) {
    for (int64_t id = range.begin; id < range.end; ++id) ids.push_back(id);
  }
  return ids;
}

std::vector<int64_t> AllBut(int64_t count, IdRange left_out) {
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < count; ++id) {
    if (id < left_out.begin || id >= left_out.end) ids.push_back(id);
  }
  return ids;
}

TEST(WholePartsTest, OneRankHasAllNodesOfThePartsThatHaveRowsInSomeSet) {
  const auto nodes = NodesOfParts(Info(), 0, std::vector<int>{kPaper}, {});
  ASSERT_EQ(nodes.size(), 1U) << "nothing leads into an author, and no paper reads a venue";
  EXPECT_EQ(nodes[0].type, kPaper);
  EXPECT_EQ(IdsOf(nodes[0]), AllBut(12, {4, 6}));
  const auto other = NodesOfParts(Info(), 1, std::vector<int>{kPaper}, {});
  EXPECT_THAT(IdsOf(other[0]), ElementsAre(4, 5)) << "another task has rows there alone";
}

TEST(WholePartsTest, TypesAreThoseThatLayersReachAndThoseOfTheRows) {
  const auto nodes = NodesOfParts(Info(), 0, std::vector<int>{kAuthor, kVenue}, {});
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].type, kAuthor) << "rows are authors, though no edge leads to them";
  EXPECT_EQ(nodes[1].type, kPaper) << "venues read papers";
  EXPECT_EQ(nodes[2].type, kVenue);
}

TEST(WholePartsTest, RanksShareTheNodes) {
  for (const int world_size : {2, 3, 5}) {
    std::vector<int64_t> all;
    for (int rank = 0; rank < world_size; ++rank) {
      const auto nodes = NodesOfParts(Info(), 0, std::vector<int>{kPaper}, {rank, world_size});
      const std::vector<int64_t> own = IdsOf(nodes[0]);
      EXPECT_NEAR(static_cast<double>(own.size()), 10.0 / world_size, 1);
      all.insert(all.end(), own.begin(), own.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, AllBut(12, {4, 6})) << world_size;
  }
}

TEST(WholePartsTest, AStepHasItsRowsFirstAndSaysHowManyTheyAre) {
  const NodeSeeds rows(kPaper, {3, 5, 9});
  const auto nodes = std::make_shared<const std::vector<NodesOfType>>(
      std::vector<NodesOfType>{{kAuthor, {{0, 2}, {4, 5}}}, {kPaper, {{0, 4}}}, {kVenue, {}}});
  const WholePartSeeds whole(&rows, nodes);
  EXPECT_EQ(whole.rows(), 3);
  StepSeeds step;
  ASSERT_TRUE(whole.Collect(std::vector<int64_t>{2, 0}, 1, &step).ok());
  ASSERT_EQ(step.seeds.size(), 3U);
  EXPECT_EQ(step.seeds[0].type, kAuthor);
  EXPECT_EQ(step.seeds[0].asked, 0);
  EXPECT_THAT(step.seeds[0].ids, ElementsAre(0, 1, 4));
  EXPECT_EQ(step.seeds[1].type, kPaper);
  EXPECT_EQ(step.seeds[1].asked, 2);
  EXPECT_THAT(step.seeds[1].ids, ElementsAre(9, 3, 0, 1, 2, 3));
  EXPECT_EQ(step.seeds[2].asked, 0);
  ASSERT_TRUE(whole.Collect({}, 1, &step).ok());
  EXPECT_TRUE(step.seeds.empty()) << "a rank that is out of rows samples nothing";
}

}  // namespace
}  // namespace halograph

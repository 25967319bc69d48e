#include "trainer/seeds/pair_search.h"

#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/local_stores.h"
#include "tests/support/test_folder.h"
#include "tests/support/written_graph.h"

namespace halograph {
namespace {

using testing::ElementsAre;

// Nodes 0 to 7 over two parts, two relations, and a task whose sets contradict each other.
TestGraphSpec Contradictory() {
  TestGraphSpec spec{.name = "pairs", .parts = 2};
  spec.node_types = {{.name = "node", .owners = {0, 0, 0, 0, 1, 1, 1, 1}}};
  const TestRelation a{"node", "r0", "node", {{0, 1}}}, b{"node", "r1", "node", {{0, 1}}};
  spec.relations = {a, b};
  const auto set = [](const std::string& name, const TestRelation& relation,
                      const std::vector<int64_t>& pairs, const std::vector<int64_t>& labels) {
    TestTaskSet made{.set = name,
                     .type = relation.triple(),
                     .edges = true,
                     .arrays = {MakeTensor("seeds", pairs, 2)}};
    if (!labels.empty()) made.arrays.push_back(MakeTensor<int64_t>("labels", labels));
    return made;
  };
  spec.tasks = {
      {.name = "links",
       .sets = {
           set("train", a, {0, 1, 2, 5, 0, 1, 3, 4, 0, 1}, {}),  // 0 -> 1 three times
           set("train", b, {6, 7}, {}),
           // 2 -> 5 is of the train set; 4 -> 6 is an edge, and a negative twice; 6 -> 7 is of r1
           set("valid", a, {2, 5, 4, 6, 4, 6, 4, 6, 6, 7, 1, 0}, {1, 1, 0, 0, 1, 0}),
           // 3 -> 4 is of the train set, 4 -> 6 of the validation set, where 1 -> 0 is a negative
           set("test", a, {3, 4, 4, 6, 1, 0, 7, 7}, {1, 1, 1, 0}),
       }}};
  return spec;
}

class PairSearchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto stores =
        OpenLocalStores(WriteGraphInto(&folder_, Contradictory()), VerifyLevel::kContents, 0);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = std::move(*stores);
  }
  [[nodiscard]] PairCounts Found(const std::vector<int>& parts, int64_t at_once, int64_t* steps) {
    const Task& task = stores_.graph->info().schema.tasks.front();
    PairSearch search(stores_, task, parts, at_once);
    for (*steps = 0; !search.done(); ++*steps) EXPECT_TRUE(search.Step().ok());
    return search.counts();
  }

  std::unique_ptr<TestFolder> folder_;
  Stores stores_;
};

TEST_F(PairSearchTest, CountsPairsThatContradictEachOtherHoweverManyItHoldsAtOnce) {
  for (const int64_t at_once : {1, 2, 5, 1000}) {
    int64_t steps = 0;
    const PairCounts found = Found({0, 1}, at_once, &steps);
    EXPECT_EQ(steps, at_once == 1000 ? 2 : steps);
    EXPECT_THAT(found.edges, ElementsAre(6, 3, 3)) << at_once;
    EXPECT_THAT(found.given_negatives, ElementsAre(0, 3, 1)) << at_once;
    EXPECT_THAT(found.repeats, ElementsAre(2, 1, 0)) << at_once;
    EXPECT_THAT(found.contradicted, ElementsAre(0, 2, 0)) << at_once;
    EXPECT_EQ(found.valid_in_train, 1) << at_once;
    EXPECT_EQ(found.test_in_train, 1) << at_once;
    EXPECT_EQ(found.test_in_valid, 1) << at_once;
  }
}

TEST_F(PairSearchTest, PartsAddUp) {
  int64_t steps = 0;
  const PairCounts all = Found({0, 1}, 1000, &steps);
  const PairCounts first = Found({0}, 1000, &steps), second = Found({1}, 1000, &steps);
  EXPECT_EQ(steps, 1);
  for (size_t set = 0; set < 3; ++set) {
    EXPECT_EQ(first.edges[set] + second.edges[set], all.edges[set]);
    EXPECT_EQ(first.repeats[set] + second.repeats[set], all.repeats[set]);
  }
  EXPECT_TRUE(PairSearch(stores_, stores_.graph->info().schema.tasks.front(), {}).done());
}

}  // namespace
}  // namespace halograph

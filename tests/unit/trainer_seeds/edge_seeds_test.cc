#include "trainer/seeds/edge_seeds.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/chi_square.h"
#include "tests/support/local_stores.h"
#include "tests/support/written_graph.h"
#include "trainer/seeds/known_edges.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kUsers = 6, kItems = 9;

double ChiSquare(const std::vector<int64_t>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double off = static_cast<double>(counts[i]) - expected[i];
    sum += off * off / expected[i];
  }
  return sum;
}

// user:likes:item, its way back item:rev_likes:user, and item:near:item; a task on the first and
// the last, over two parts.
TestGraphSpec Shop() {
  TestGraphSpec spec{.name = "shop", .parts = 2};
  TestNodeType users{.name = "user"}, items{.name = "item"};
  for (int64_t i = 0; i < kUsers; ++i) users.owners.push_back(static_cast<int>(i % 2));
  for (int64_t i = 0; i < kItems; ++i) items.owners.push_back(static_cast<int>(i % 2));
  spec.node_types = {users, items};
  TestRelation likes{"user", "likes", "item"}, back{"item", "rev_likes", "user"};
  TestRelation near{"item", "near", "item"};
  for (int64_t u = 0; u < kUsers; ++u) {
    for (const int64_t i : {u, (u + 1) % kItems, (u + 4) % kItems}) {
      likes.edges.emplace_back(u, i);
      back.edges.emplace_back(i, u);
    }
  }
  for (int64_t i = 0; i < kItems; ++i) {
    near.edges.emplace_back(i, (i + 1) % kItems);
    near.edges.emplace_back((i + 1) % kItems, i);
  }
  spec.relations = {likes, back, near};
  const auto set = [](const std::string& name, const TestRelation& relation,
                      const std::vector<int64_t>& pairs) {
    return TestTaskSet{.set = name,
                       .type = relation.triple(),
                       .edges = true,
                       .arrays = {MakeTensor("seeds", pairs, 2)}};
  };
  spec.tasks = {{.name = "links",
                 .sets = {set("train", likes, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}),
                          set("train", near, {0, 1, 3, 2, 4, 5, 7, 6}), set("valid", near, {1, 2}),
                          set("test", likes, {0, 4, 1, 5})}}};
  return spec;
}

class EdgeSeedsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto graph = WriteGraphInto(&folder_, Shop());
    auto stores = OpenLocalStores(graph, VerifyLevel::kContents, 0);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = std::move(*stores);
  }
  static void TearDownTestSuite() {
    stores_ = {};
    folder_.reset();
  }
  [[nodiscard]] const Schema& schema() const { return stores_.graph->info().schema; }
  [[nodiscard]] const Task& task() const { return schema().tasks.front(); }
  [[nodiscard]] EdgeRows Read(const char* set, RankOfWorld who = {}) {
    auto rows = ReadEdgeRows(stores_, task(), set, who);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? *rows : EdgeRows{};
  }
  [[nodiscard]] EdgeSeeds Source(NegativeSpec negatives, NodeDrawers drawers = {}) {
    return EdgeSeeds(&schema(), Read("train"), negatives, std::move(drawers), 7);
  }
  [[nodiscard]] static StepSeeds Collected(const EdgeSeeds& source,
                                           const std::vector<int64_t>& rows, uint64_t key = 1) {
    StepSeeds step;
    EXPECT_TRUE(source.Collect(rows, key, &step).ok());
    return step;
  }
  [[nodiscard]] static std::vector<int64_t> AllRows(const EdgeSeeds& source) {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < source.rows(); ++row) rows.push_back(row);
    return rows;
  }
  // Input ids to global ones.
  [[nodiscard]] static int64_t Item(int64_t id) { return GlobalNodeIds(Shop(), "item")[id]; }
  [[nodiscard]] static int64_t User(int64_t id) { return GlobalNodeIds(Shop(), "user")[id]; }

  using Edge = std::tuple<int64_t, int64_t, int64_t>;
  [[nodiscard]] static std::multiset<Edge> EdgesOf(const EdgeRows& rows) {
    std::multiset<Edge> edges;
    for (size_t i = 0; i < rows.sources.size(); ++i) {
      edges.emplace(rows.relations[i], rows.sources[i], rows.destinations[i]);
    }
    return edges;
  }

  static inline std::unique_ptr<TestFolder> folder_;
  static inline Stores stores_;
};

TEST_F(EdgeSeedsTest, RanksShareTheEdgesByTheOwnerOfTheDestination) {
  const std::multiset<Edge> all = EdgesOf(Read("train"));
  EXPECT_EQ(all.size(), 10U);
  const int likes = *schema().RelationIndex("user:likes:item");
  EXPECT_EQ(all.count({likes, User(3), Item(3)}), 1U);
  for (const int world_size : {1, 2, 3, 4}) {
    std::multiset<Edge> together;
    for (int rank = 0; rank < world_size; ++rank) {
      const EdgeRows own = Read("train", {rank, world_size});
      EXPECT_EQ(own.part_rows, Read("train").part_rows);
      together.merge(EdgesOf(own));
    }
    EXPECT_EQ(together, all) << world_size;
  }
  const auto items = stores_.graph->info().book.NodeBoundaries(*schema().NodeTypeIndex("item"));
  for (const int rank : {0, 1}) {
    for (const int64_t item : Read("train", {rank, 2}).destinations) {
      EXPECT_EQ(FindRange(items, item), rank) << "both parts have as many edges";
    }
  }
  EXPECT_TRUE(Read("none").part_rows.empty());
}

TEST_F(EdgeSeedsTest, SeedsAreBothEndsThenNegativesOfEachEnd) {
  const EdgeSeeds source = Source({.ends = CorruptedEnds::kBoth, .count = 2});
  const StepSeeds step = Collected(source, {9, 0, 4});
  ASSERT_EQ(step.seeds.size(), 2U);  // items, users
  const auto labels = step.labels.As<int64_t>();
  ASSERT_EQ(step.labels.rows(), 3);
  std::vector<int64_t> relations;
  for (size_t i = 0; i < labels.size(); i += kEdgeLabels) {
    relations.push_back(labels[i]);
    EXPECT_EQ(labels[i + 1], 7);
  }
  const EdgeLayout layout = LayOutEdges(schema(), relations, source.negatives());
  const EdgeRows& rows = source.edges();
  std::multiset<Edge> found, wanted;
  for (const EdgeRun& run : layout.runs) {
    for (int64_t i = 0; i < run.rows.size(); ++i) {
      found.emplace(relations[run.rows.begin + i], step.seeds[run.source_list].ids[run.sources + i],
                    step.seeds[run.destination_list].ids[run.destinations + i]);
    }
  }
  for (const int64_t row : {9, 0, 4}) {
    wanted.emplace(rows.relations[row], rows.sources[row], rows.destinations[row]);
  }
  EXPECT_EQ(found, wanted);
  int64_t size = 0;
  for (size_t i = 0; i < layout.lists.size(); ++i) {
    EXPECT_EQ(step.seeds[i].type, layout.lists[i].type);
    EXPECT_EQ(std::ssize(step.seeds[i].ids), layout.lists[i].size);
    size += layout.lists[i].size;
    for (const int64_t id : step.seeds[i].ids) {
      EXPECT_LT(id, schema().node_types[step.seeds[i].type].count);
    }
  }
  EXPECT_EQ(size, 3 * (2 + 2 * 2));
}

TEST_F(EdgeSeedsTest, DrawsComeFromTheKeyAlone) {
  const EdgeSeeds source = Source({.count = 5});
  const std::vector<int64_t> rows = AllRows(source);
  const auto ids = [&](uint64_t key) { return Collected(source, rows, key).seeds.front().ids; };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
}

TEST_F(EdgeSeedsTest, SharedNegativesAreDrawnOnceARun) {
  const StepSeeds step = Collected(Source({.count = 50, .shared = true}), {0, 1, 2, 3, 4, 5, 6});
  int64_t size = 0;
  for (const auto& list : step.seeds) size += std::ssize(list.ids);
  EXPECT_EQ(size, 7 * 2 + 2 * 50) << "two runs: likes, near";
}

TEST_F(EdgeSeedsTest, NothingIsDrawnInBatch) {
  const StepSeeds step =
      Collected(Source({.sampling = NegativeSampling::kInBatch, .count = 3}), {0, 1, 2});
  int64_t size = 0;
  for (const auto& list : step.seeds) size += std::ssize(list.ids);
  EXPECT_EQ(size, 3 * 2);
}

TEST_F(EdgeSeedsTest, UniformNegativesPassChiSquare) {
  const EdgeSeeds source = Source({.count = 2000});
  const int near = *schema().RelationIndex("item:near:item");
  const auto& relations = source.edges().relations;
  const int64_t row = std::find(relations.begin(), relations.end(), near) - relations.begin();
  const std::vector<int64_t> ids = Collected(source, {row}).seeds.front().ids;
  std::vector<int64_t> counts(kItems);
  for (size_t i = 2; i < ids.size(); ++i) ++counts[static_cast<size_t>(ids[i])];
  const std::vector<double> expected(kItems, 2000.0 / kItems);
  EXPECT_LT(ChiSquare(counts, expected), ChiSquareLimit(kItems - 1));
}

TEST_F(EdgeSeedsTest, NegativesByDegreePassChiSquare) {
  auto drawers = DrawersByDegree(stores_, task());
  ASSERT_TRUE(drawers.ok()) << drawers.status();
  const int items = *schema().NodeTypeIndex("item");
  std::vector<double> expected(kItems);
  const EdgeRows rows = Read("train");
  std::vector<int> degrees(kItems);
  for (size_t i = 0; i < rows.sources.size(); ++i) {
    ++degrees[rows.destinations[i]];
    if (schema().SourceType(rows.relations[i]) == items) ++degrees[rows.sources[i]];
  }
  double sum = 0;
  for (const int degree : degrees) sum += std::pow(degree, 0.75);
  constexpr int kDraws = 20000;
  for (int64_t i = 0; i < kItems; ++i) expected[i] = kDraws * std::pow(degrees[i], 0.75) / sum;
  CounterRng rng(Mix(5));
  std::vector<int64_t> counts(kItems);
  for (int i = 0; i < kDraws; ++i) ++counts[(*drawers)[items]->Draw(rng)];
  std::vector<int64_t> some;
  std::vector<double> of_some;
  for (int64_t i = 0; i < kItems; ++i) {
    if (degrees[i] == 0) {
      EXPECT_EQ(counts[i], 0) << i;
      continue;
    }
    some.push_back(counts[i]);
    of_some.push_back(expected[i]);
  }
  ASSERT_GT(some.size(), 4U);
  EXPECT_LT(ChiSquare(some, of_some), ChiSquareLimit(std::ssize(some) - 1));
  EXPECT_NE(*std::min_element(of_some.begin(), of_some.end()),
            *std::max_element(of_some.begin(), of_some.end()));
}

TEST_F(EdgeSeedsTest, EveryDirectionOfASeedEdgeIsLeftOut) {
  const int likes = *schema().RelationIndex("user:likes:item");
  const int back = *schema().RelationIndex("item:rev_likes:user");
  const int near = *schema().RelationIndex("item:near:item");
  EXPECT_THAT(ReverseRelations(schema(), likes), ElementsAre(back));
  EXPECT_THAT(ReverseRelations(schema(), back), ElementsAre(likes));
  EXPECT_THAT(ReverseRelations(schema(), near), ElementsAre(near));
  Schema unnamed = schema();
  unnamed.relations[static_cast<size_t>(back)].name = "bought";
  EXPECT_THAT(ReverseRelations(unnamed, likes), ElementsAre(back)) << "the only way back";
}

// With full neighbourhoods of two layers all other edges between the nodes would be there.
TEST_F(EdgeSeedsTest, ABlockNeverHasASeedEdgeOrItsWayBack) {
  const EdgeSeeds source = Source({.ends = CorruptedEnds::kBoth, .count = 3});
  const SamplingSpec spec = SamplingSpec::Uniform(schema(), std::vector<int32_t>{-1, -1});
  int64_t drawn = 0, left_out = 0;
  for (uint64_t key = 0; key < 8; ++key) {
    const std::vector<int64_t> rows = {static_cast<int64_t>(key) % 10,
                                       static_cast<int64_t>(3 * key + 1) % 10};
    const StepSeeds step = Collected(source, rows, key);
    std::set<Edge> forbidden;
    for (const auto& excluded : step.exclude) {
      for (size_t i = 0; i < excluded.sources.size(); ++i) {
        forbidden.emplace(excluded.relation, excluded.sources[i], excluded.destinations[i]);
      }
    }
    for (const int64_t row : rows) {
      const int relation = source.edges().relations[row];
      const int64_t from = source.edges().sources[row], to = source.edges().destinations[row];
      EXPECT_TRUE(forbidden.contains({relation, from, to}));
      for (const int back : ReverseRelations(schema(), relation)) {
        EXPECT_TRUE(forbidden.contains({back, to, from}));
      }
    }
    for (const bool leave_out : {true, false}) {
      SampleRequest request{.batch_seed = key, .spec = &spec};
      for (const auto& list : step.seeds) request.seeds.push_back({list.type, list.ids});
      for (const auto& edges : step.exclude) {
        if (leave_out) {
          request.exclude.push_back({edges.relation, edges.sources, edges.destinations});
        }
      }
      CallContext context;
      Minibatch minibatch;
      ASSERT_TRUE(stores_.graph->Sample(request, context, &minibatch).ok());
      for (const SampledLayer& layer : minibatch.layers) {
        for (const Block& block : layer.blocks) {
          const auto& sources = minibatch.nodes[schema().SourceType(block.relation)];
          const auto& destinations = minibatch.nodes[schema().DestinationType(block.relation)];
          for (int64_t v = 0; v + 1 < std::ssize(block.indptr); ++v) {
            for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
              const bool is_forbidden =
                  forbidden.contains({block.relation, sources[block.indices[e]], destinations[v]});
              drawn += leave_out ? 1 : 0;
              left_out += !leave_out && is_forbidden ? 1 : 0;
              EXPECT_FALSE(leave_out && is_forbidden);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(drawn, 0);
  EXPECT_GT(left_out, 0) << "they would have been there";
}

TEST_F(EdgeSeedsTest, KnownEdgesAreOfAllSets) {
  auto known = KnownEdges::Read(stores_, task(), CorruptedEnds::kBoth);
  ASSERT_TRUE(known.ok()) << known.status();
  const int likes = *schema().RelationIndex("user:likes:item");
  std::set<int64_t> tails;
  for (const auto& entry : known->TailsOf(likes, User(0))) tails.insert(entry.other);
  EXPECT_THAT(tails, testing::UnorderedElementsAre(Item(0), Item(4))) << "train and test";
  std::set<int64_t> heads;
  for (const auto& entry : known->HeadsOf(likes, Item(5))) heads.insert(entry.other);
  EXPECT_THAT(heads, testing::UnorderedElementsAre(User(5), User(1)));
  EXPECT_TRUE(known->TailsOf(likes, User(0) + kUsers).empty());
  EXPECT_TRUE(known->TailsOf(likes + 100, User(0)).empty());
}

TEST(EdgeTaskTest, SetsOfNodesTriplesAndNoTrainEdgesAreRefused) {
  Task task{.name = "t",
            .sets = {{.set = "train", .type = "node", .rows = 3, .arrays = {{.name = "seeds"}}}}};
  EXPECT_THAT(Message(CheckEdgeTask({}, task)), HasSubstr("its train set is of nodes ('node')"));
  task.sets[0].edges = true;
  task.sets[0].arrays[0].dim = 3;
  EXPECT_THAT(Message(CheckEdgeTask({}, task)), HasSubstr("seeds of 3 columns, expected 2"));
  task.sets[0].arrays[0].dim = 2;
  EXPECT_TRUE(CheckEdgeTask({}, task).ok());
  task.sets[0].set = "valid";
  EXPECT_THAT(Message(CheckEdgeTask({}, task)), HasSubstr("task 't' has no train edges"));
}

// The graph of Shop with labels of its sets, in order: two train sets, valid (one row), test.
class EdgeLabelsTest : public testing::Test {
 protected:
  void Write(const std::vector<int64_t>& train, const std::vector<float>& valid,
             const std::vector<int64_t>& test) {
    TestGraphSpec spec = Shop();
    std::vector<TestTaskSet>& sets = spec.tasks[0].sets;
    if (!train.empty()) sets[1].arrays.push_back(MakeTensor("labels", train));
    if (!valid.empty()) sets[2].arrays.push_back(MakeTensor("labels", valid));
    if (!test.empty()) sets[3].arrays.push_back(MakeTensor("labels", test));
    stores_ = {};
    auto stores = OpenLocalStores(WriteGraphInto(&folder_, spec), VerifyLevel::kContents, 0);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = std::move(*stores);
  }
  [[nodiscard]] const Task& task() const { return stores_.graph->info().schema.tasks.front(); }
  [[nodiscard]] StatusOr<EdgeRows> Read(const char* set) {
    return ReadEdgeRows(stores_, task(), set, {});
  }
  void ExpectRefused(const char* set, const std::string& why) {
    const Status status = Read(set).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << "which one rank alone may meet";
    EXPECT_THAT(Message(status), HasSubstr(why));
  }

  std::unique_ptr<TestFolder> folder_;
  Stores stores_;
};

TEST_F(EdgeLabelsTest, AreWrongWithTheirPlace) {
  Write({1, 1, 0, 1}, {2}, {1, -1});  // stored by part: the third of train is row 3
  ExpectRefused(
      "train",
      "task 'links', train set of 'item:near:item': row 3 has label 0: a negative that is "
      "given. Only validation and test sets have such rows");
  ExpectRefused("valid",
                "task 'links', valid set of 'item:near:item': row 0 has label 2: expected 1, an "
                "edge, or 0, a negative that is given");
  ExpectRefused("test", "has label -1: expected 1, an edge, or 0");
  Write({1, 1, 3, 1}, {0.5}, {1, 1});
  ExpectRefused("train", "row 3 has label 3: expected 1, an edge. Correct it");
  ExpectRefused("valid", "row 0 has label 0.5");
  EXPECT_TRUE(Read("test")->given_negative.empty()) << "all are edges";
}

TEST_F(EdgeLabelsTest, AGivenNegativeIsNoEdge) {
  Write({}, {0}, {1, 0});  // of user:likes:item: 0 -> 4 and not 1 -> 5
  const Schema& schema = stores_.graph->info().schema;
  const int64_t likes = *schema.RelationIndex("user:likes:item");
  const int64_t user = GlobalNodeIds(Shop(), "user")[1], item = GlobalNodeIds(Shop(), "item")[5];
  const EdgeRows rows = *Read("test");
  ASSERT_EQ(rows.given_negative.size(), 2U);
  const size_t negative = rows.is_edge(0) ? 1 : 0;
  EXPECT_FALSE(rows.is_edge(negative));
  EXPECT_EQ(rows.sources[negative], user);
  EXPECT_EQ(rows.destinations[negative], item);

  const auto known = *KnownEdges::Read(stores_, task(), CorruptedEnds::kTails);
  for (const auto& entry : known.TailsOf(likes, user)) EXPECT_NE(entry.other, item);
  EXPECT_EQ(known.TailsOf(likes, GlobalNodeIds(Shop(), "user")[0]).size(), 2U) << "0 -> 4 is";

  const EdgeSeeds source(&schema, rows, {.sampling = NegativeSampling::kInBatch, .count = 0});
  StepSeeds step;
  ASSERT_TRUE(source.Collect(std::vector<int64_t>{0, 1}, 1, &step).ok());
  const auto labels = step.labels.As<int64_t>();
  ASSERT_EQ(labels.size(), 2U * kEdgeLabels);
  EXPECT_EQ(labels[2] + labels[kEdgeLabels + 2], 1) << "one edge";
  ASSERT_EQ(step.exclude.size(), 2U) << "likes and its way back";
  for (const auto& excluded : step.exclude) {
    ASSERT_EQ(excluded.sources.size(), 1U);
    EXPECT_NE(excluded.relation == likes ? excluded.sources[0] : excluded.destinations[0], user);
  }
}

TEST_F(EdgeLabelsTest, KindsOfRowsAreCounted) {
  Write({1, 1, 1, 1}, {0}, {1, 0});
  const auto count = [&](const char* set, int64_t enough) {
    const RowKinds kinds = *CountRowKinds(stores_, task(), set, enough);
    return std::pair(kinds.edges, kinds.given_negatives);
  };
  EXPECT_EQ(count("train", 5), std::pair(int64_t{10}, int64_t{0}));
  EXPECT_EQ(count("valid", 5), std::pair(int64_t{0}, int64_t{1}));
  EXPECT_EQ(count("test", 1), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(count("none", 1), std::pair(int64_t{0}, int64_t{0}));
}

}  // namespace
}  // namespace halograph

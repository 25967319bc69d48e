#include "trainer/tasks/link_hits.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_log.h"
#include "tests/support/local_stores.h"
#include "tests/support/ranks.h"
#include "tests/support/written_graph.h"
#include "trainer/tasks/registry.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kPlaces = 8;  // nodes
constexpr int64_t kWidth = 3;

// Hits at k as OGB's evaluator writes them.
double SlowHits(const std::vector<float>& edges, std::vector<float> negatives, size_t k) {
  if (negatives.size() < k) return 1;
  std::sort(negatives.begin(), negatives.end(), std::greater<>());
  const auto hits = std::count_if(edges.begin(), edges.end(),
                                  [&](float score) { return score > negatives[k - 1]; });
  return static_cast<double>(hits) / static_cast<double>(edges.size());
}

TEST(CountHitsTest, AnEdgeIsAHitAboveTheKthNegativeAndNotBesideIt) {
  const torch::Tensor edges = torch::tensor({0.9F, 0.5F, 0.6F, 0.1F});
  const torch::Tensor greatest = Greatest(torch::tensor({0.5F, 0.3F, 0.7F}), 10);
  EXPECT_EQ(CountHits(edges, greatest, 1), 1);
  EXPECT_EQ(CountHits(edges, greatest, 2), 2) << "0.5 is no hit";
  EXPECT_EQ(CountHits(edges, greatest, 3), 3);
  EXPECT_EQ(CountHits(edges, greatest, 4), 4) << "of three negatives";
}

TEST(CountHitsTest, IsOgbsFormulaOfScoresWithManyTies) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> values(0, 60);
  std::vector<float> edges(200), negatives(150);
  for (float& score : edges) score = static_cast<float>(values(random)) / 8;
  for (float& score : negatives) score = static_cast<float>(values(random)) / 9;
  const torch::Tensor greatest = Greatest(torch::tensor(negatives), 200);
  for (const int64_t k : {1, 2, 20, 50, 149, 150, 151}) {
    EXPECT_EQ(static_cast<double>(CountHits(torch::tensor(edges), greatest, k)) / 200,
              SlowHits(edges, negatives, static_cast<size_t>(k)))
        << k;
  }
}

TEST(CountHitsTest, AModelThatBrokeHasNoHits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(CountHits(torch::tensor({nan, 2.F}), Greatest(torch::tensor({1.F, 0.F}), 1), 1), 1);
  EXPECT_EQ(CountHits(torch::tensor({2.F}), Greatest(torch::tensor({1.F, nan, 0.F}), 1), 1), 0);
}

TEST(HitsAtOptionTest, NumbersAreRefusedThatSayNothing) {
  LinkOptions options;
  OptionTable rows;
  options.AddRows(rows);
  EXPECT_THAT(options.HitsAt(), ElementsAre(20, 50, 100));
  EXPECT_TRUE(rows.Set("hits-at", "50,20").ok());
  EXPECT_THAT(options.HitsAt(), ElementsAre(50, 20)) << "the first decides";
  EXPECT_THAT(Message(rows.Set("hits-at", "50,20,50")), HasSubstr("--hits-at: 50 is there twice"));
  EXPECT_THAT(Message(rows.Set("hits-at", "0")), HasSubstr("--hits-at has 0, expected 1 to 65536"));
  EXPECT_THAT(Message(rows.Set("hits-at", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17")),
              HasSubstr("17 numbers, expected at most 16"));
}

// Pairs of a set and their labels; an empty list: none.
struct Pairs {
  std::vector<int64_t> ends;
  std::vector<int64_t> labels;
};
const Pairs kValidPairs = {{0, 4, 1, 5, 2, 7, 3, 6, 0, 6, 7, 2, 5, 1}, {1, 0, 1, 0, 0, 1, 0}};
const Pairs kTestPairs = {{6, 1, 2, 3, 5, 2}, {1, 0, 0}};  // the graph has 2 -> 3

// A ring of eight nodes in one direction, over two parts; validation and test as given.
TestGraphSpec RingWith(const Pairs& valid, const Pairs& test) {
  TestGraphSpec spec{.name = "ring", .parts = 2};
  TestNodeType node{.name = "node"};
  TestRelation next{"node", "next", "node"};
  Pairs train;
  for (int64_t i = 0; i < kPlaces; ++i) {
    node.owners.push_back(i < kPlaces / 2 ? 0 : 1);
    next.edges.emplace_back(i, (i + 1) % kPlaces);
    train.ends.insert(train.ends.end(), {i, (i + 1) % kPlaces});
  }
  spec.node_types = {node};
  spec.relations = {next};
  TestTask task{.name = "links"};
  for (const auto& [name, pairs] :
       {std::pair{"train", &std::as_const(train)}, {"valid", &valid}, {"test", &test}}) {
    if (pairs->ends.empty()) continue;
    TestTaskSet set{.set = name,
                    .type = next.triple(),
                    .edges = true,
                    .arrays = {MakeTensor("seeds", pairs->ends, 2)}};
    if (!pairs->labels.empty()) set.arrays.push_back(MakeTensor<int64_t>("labels", pairs->labels));
    task.sets.push_back(set);
  }
  spec.tasks = {task};
  return spec;
}

class LinkHitsTest : public testing::Test {
 protected:
  void Write(const Pairs& valid = kValidPairs, const Pairs& test = kTestPairs) {
    at::set_num_threads(1);
    stores_ = {};
    auto stores =
        OpenLocalStores(WriteGraphInto(&folder_, RingWith(valid, test)), VerifyLevel::kContents, 0);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = std::move(*stores);
  }
  [[nodiscard]] StatusOr<std::unique_ptr<TrainingTask>> Open(const LinkOptions& link,
                                                             RankOfWorld who = {}) {
    torch::manual_seed(3);
    return OpenTask(stores_, {.link = link}, "", who);
  }
  static LinkOptions Options() { return {.dim = kWidth, .hits_at = {2, 1, 9}}; }

  // Rows as the pipeline makes a minibatch of them, with node i at place i, and the model's rows.
  static Step BatchOf(const SeedSource& source, const std::vector<int64_t>& rows) {
    StepSeeds step;
    EXPECT_TRUE(source.Collect(rows, 1, &step).ok());
    Step batch;
    batch.rows = std::ssize(rows);
    batch.labels = step.labels;
    batch.minibatch.nodes.emplace_back();
    for (int64_t i = 0; i < kPlaces; ++i) batch.minibatch.nodes.back().push_back(i);
    batch.minibatch.seed_positions.emplace_back(step.seeds.front().ids.begin(),
                                                step.seeds.front().ids.end());
    return batch;
  }
  static const torch::Tensor& Table() {
    static const torch::Tensor table = [] {
      torch::manual_seed(4);
      return torch::randn({kPlaces, kWidth});
    }();
    return table;
  }
  // Ids in this graph are as in the input.
  static std::vector<float> Scores(const Pairs& pairs, int64_t label) {
    std::vector<float> scores;
    for (size_t i = 0; i < pairs.labels.size(); ++i) {
      if (pairs.labels[i] != label) continue;
      scores.push_back(
          (Table()[pairs.ends[2 * i]] * Table()[pairs.ends[2 * i + 1]]).sum().item<float>());
    }
    return scores;
  }
  // One rank's sums of a set, two rows at a time.
  static std::vector<double> Swept(TrainingTask& task, BatchPurpose set, Communicator& ranks) {
    const torch::NoGradGuard no_grad;
    const SeedSource& source = *task.source(set);
    const auto sweep = task.StartSweep(set);
    const IdRange shard = SplitRows(source.part_rows(), ranks.world_size()).of_rank[ranks.rank()];
    for (int64_t row = shard.begin; row < shard.end; row += 2) {
      std::vector<int64_t> rows = {row};
      if (row + 1 < shard.end) rows.push_back(row + 1);
      sweep->AddRows({Table()}, BatchOf(source, rows));
    }
    EXPECT_TRUE(sweep->Meet(ranks).ok());
    EXPECT_TRUE(sweep->node_types().empty());
    std::vector<double> sums(task.metric().sums);
    EXPECT_TRUE(sweep->Finish(ranks, sums).ok());
    return sums;
  }
  [[nodiscard]] std::string Refused(const LinkOptions& options) {
    return Message(Open(options).status());
  }

  std::unique_ptr<TestFolder> folder_;
  Stores stores_;
};

TEST_F(LinkHitsTest, FiguresOfASetAreOgbsOfItsScores) {
  Write();
  const auto task = *Open(Options());
  EXPECT_EQ(task->metric().key, "hits_at_2");
  EXPECT_EQ(task->metric().label, "hits at 2");
  const auto alone = *Communicator::Join({});
  for (const auto& [set, pairs] :
       {std::pair{BatchPurpose::kValid, kValidPairs}, {BatchPurpose::kTest, kTestPairs}}) {
    const std::vector<float> edges = Scores(pairs, 1), negatives = Scores(pairs, 0);
    const std::vector<double> sums = Swept(*task, set, *alone);
    EXPECT_EQ(sums.back(), edges.size());
    EXPECT_EQ(task->MetricOf(sums), SlowHits(edges, negatives, 2));
    const auto others = task->MoreMetrics(sums);
    ASSERT_EQ(others.size(), 2U);
    EXPECT_EQ(others[0].key, "hits_at_1");
    EXPECT_EQ(others[0].value, SlowHits(edges, negatives, 1));
    EXPECT_EQ(others[1].key, "hits_at_9");
    EXPECT_EQ(others[1].value, 1) << "of fewer negatives";
  }
}

TEST_F(LinkHitsTest, AnyNumberOfRanksFindsTheSame) {
  Write();
  const auto alone_task = *Open(Options());
  const auto alone_rank = *Communicator::Join({});
  const std::vector<double> alone = Swept(*alone_task, BatchPurpose::kValid, *alone_rank);
  EXPECT_GT(alone[0], 0);
  EXPECT_LT(alone[0], alone[3]) << "a case that tells";
  for (const int world_size : {2, 3, 9}) {  // nine ranks: some have no row
    std::vector<std::vector<double>> found(static_cast<size_t>(world_size));
    std::vector<std::unique_ptr<TrainingTask>> tasks;
    for (int rank = 0; rank < world_size; ++rank) {
      tasks.push_back(*Open(Options(), {rank, world_size}));
    }
    RunHostedRanks(1, world_size, [&](std::unique_ptr<Communicator> ranks) {
      found[ranks->rank()] = Swept(*tasks[ranks->rank()], BatchPurpose::kValid, *ranks);
    });
    for (size_t i = 0; i < alone.size(); ++i) {
      double sum = 0;
      for (const auto& own : found) sum += own[i];
      EXPECT_EQ(sum, alone[i]) << world_size << " " << i;
    }
  }
}

TEST_F(LinkHitsTest, TheLossOfASetIsBinaryCrossEntropyOfItsRows) {
  Write();
  LinkOptions options = Options();
  options.loss = LinkLoss::kSoftmax;
  options.ends = CorruptedEnds::kBoth;
  options.negatives = 5;
  const auto task = *Open(options);
  const Step batch = BatchOf(*task->source(BatchPurpose::kValid), {0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(batch.minibatch.seed_positions.front().size(), 14U) << "no node is drawn";
  double wanted = 0;
  for (const float score : Scores(kValidPairs, 1)) wanted += std::log1p(std::exp(-score));
  for (const float score : Scores(kValidPairs, 0)) wanted += std::log1p(std::exp(score));
  EXPECT_NEAR(task->Loss({Table()}, batch).sum.item<double>(), wanted, 1e-4);
}

TEST_F(LinkHitsTest, TrainingDrawsItsNegativesAndHasNoHits) {
  Write();
  const auto task = *Open(Options());
  const Step batch = BatchOf(*task->source(BatchPurpose::kTrain), {0, 1});
  EXPECT_EQ(batch.minibatch.seed_positions.front().size(), 6U) << "two negatives";
  EXPECT_GT(task->Loss({Table()}, batch).sum.item<double>(), 0);
  std::vector<double> sums(task->metric().sums);
  task->Measure(task->Loss({Table()}, batch).scores, batch, sums);
  EXPECT_TRUE(std::isnan(task->MetricOf(sums)));
}

TEST_F(LinkHitsTest, AGivenNegativeThatTheGraphHasIsNotHeldOut) {
  Write();
  const auto alone = *Communicator::Join({});
  EXPECT_TRUE((*Open(Options()))->CheckGraph(*stores_.graph, *alone, nullptr).ok());
}

TEST_F(LinkHitsTest, NegativesThatAreEdgesAndPairsOfTwoSetsAreCountedAndTold) {
  // 0 -> 4 stands there as an edge and as a negative; 2 -> 3 and 5 -> 6 are edges of the graph, and
  // 6 -> 7 is of the train set too.
  Write({{0, 4, 0, 4, 2, 3, 5, 6, 6, 7, 1, 5}, {1, 0, 0, 0, 1, 0}},
        {{6, 1, 6, 1, 0, 4, 2, 5}, {1, 1, 1, 0}});
  for (const int world_size : {1, 3}) {
    CapturedLog log;
    RunRanks(world_size, [&](const std::unique_ptr<Communicator>& ranks) {
      const auto task = Open(Options(), {ranks->rank(), world_size});
      ASSERT_TRUE(task.ok()) << task.status();
      EXPECT_TRUE((*task)->CheckRows(stores_, *ranks, {}, nullptr).ok());
    });
    const std::string said = log.End();
    for (const char* sentence :
         {"1 of the 4 negatives that the valid set gives, rows of label 0, stand in it as edges",
          "2 of the 4 negatives that the valid set gives, rows of label 0, are edges of the graph",
          "1 of the 2 edges of the valid set are in the train set too",
          "1 of the 3 edges of the test set are in the valid set too",
          "1 of the 4 rows of the test set are pairs that stand in it before"}) {
      EXPECT_THAT(said, HasSubstr(sentence)) << world_size;
    }
    EXPECT_THAT(said, testing::Not(HasSubstr("edges of the test set are in the train set")));
    EXPECT_THAT(said, testing::Not(HasSubstr("negatives that the test set gives")));
  }
}

TEST_F(LinkHitsTest, LabelsOfOnesGiveNoNegatives) {
  Write({{0, 4, 1, 5}, {1, 1}}, {});
  LinkOptions options = Options();
  options.hits_at = {};
  EXPECT_EQ((*Open(options))->metric().key, "mrr");
}

TEST_F(LinkHitsTest, OptionsThatChangeNothingAreRefused) {
  Write();
  LinkOptions options = Options();
  options.eval_negatives = 0;
  EXPECT_THAT(Refused(options),
              HasSubstr("--eval-negatives 0: the validation and test sets of task "
                        "'links' come with negatives"));
  Write({{0, 4}, {}}, {});
  EXPECT_THAT(Refused(Options()), HasSubstr("--hits-at is for sets that come with negatives"));
}

TEST_F(LinkHitsTest, SetsThatCannotBeMeasuredAreRefused) {
  Write({{0, 4, 1, 5}, {0, 0}}, kTestPairs);
  EXPECT_THAT(Refused(Options()), HasSubstr("task 'links': the valid set has 2 negatives, rows of "
                                            "label 0, and no edge"));
  Write(kValidPairs, {{6, 1}, {}});
  EXPECT_THAT(Refused(Options()), HasSubstr("the valid set comes with negatives, rows of label 0, "
                                            "and the test set has none"));
  Write({{0, 4}, {1}}, kTestPairs);
  EXPECT_THAT(Refused(Options()), HasSubstr("the test set comes with negatives, rows of label 0, "
                                            "and the valid set has none"));
  Write({{0, 4, 1, 5}, {1, 2}}, kTestPairs);
  EXPECT_THAT(Refused(Options()), HasSubstr("row 1 has label 2: expected 1, an edge, or 0"));
}

}  // namespace
}  // namespace halograph

#include "trainer/tasks/link_prediction.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_log.h"
#include "tests/support/local_stores.h"
#include "tests/support/ranks.h"
#include "tests/support/written_graph.h"
#include "tests/unit/trainer_tasks/loss_on_device.h"
#include "trainer/seeds/edge_seeds.h"
#include "trainer/tasks/link_scores.h"
#include "trainer/tasks/registry.h"
#include "trainer/tasks/task.h"

namespace halograph {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

constexpr int64_t kNodes = 8;
constexpr int64_t kDim = 3;

// A ring of eight nodes in one direction, over two parts; two relations. Valid: r0 of 0 -> 4 and
// 1 -> 5; test: r1 of 2 -> 3, which the graph has.
TestGraphSpec Ring() {
  TestGraphSpec spec{.name = "ring", .parts = 2};
  TestNodeType node{.name = "node"};
  for (int64_t i = 0; i < kNodes; ++i) node.owners.push_back(i < kNodes / 2 ? 0 : 1);
  spec.node_types = {node};
  TestRelation a{"node", "r0", "node"}, b{"node", "r1", "node"};
  std::vector<int64_t> pairs;
  for (int64_t i = 0; i < kNodes; ++i) {
    a.edges.emplace_back(i, (i + 1) % kNodes);
    b.edges.emplace_back(i, (i + 1) % kNodes);
    pairs.insert(pairs.end(), {i, (i + 1) % kNodes});
  }
  spec.relations = {a, b};
  const auto set = [](const std::string& name, const TestRelation& relation,
                      const std::vector<int64_t>& seeds) {
    return TestTaskSet{.set = name,
                       .type = relation.triple(),
                       .edges = true,
                       .arrays = {MakeTensor("seeds", seeds, 2)}};
  };
  spec.tasks = {{.name = "links",
                 .sets = {set("train", a, pairs), set("train", b, pairs),
                          set("valid", a, {0, 4, 1, 5}), set("test", b, {2, 3})}}};
  return spec;
}

class LinkPredictionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    at::set_num_threads(1);
    auto stores = OpenLocalStores(WriteGraphInto(&folder_, Ring()), VerifyLevel::kContents, 0);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = std::move(*stores);
  }
  static void TearDownTestSuite() {
    stores_ = {};
    folder_.reset();
  }

  static std::unique_ptr<TrainingTask> Open(const LinkOptions& link, RankOfWorld who = {}) {
    torch::manual_seed(3);
    auto task = OpenTask(stores_, {.link = link}, "", who);
    EXPECT_TRUE(task.ok()) << task.status();
    return task.ok() ? std::move(*task) : nullptr;
  }
  static LinkOptions Options(LinkScore score = LinkScore::kDot) {
    return {.score = score, .dim = kDim, .eval_negatives = 0};
  }

  // Rows of a set as the pipeline makes a minibatch of them, without sampling: unique seeds by id.
  static Step BatchOf(const SeedSource& source, const std::vector<int64_t>& rows,
                      uint64_t key = 1) {
    StepSeeds step;
    EXPECT_TRUE(source.Collect(rows, key, &step).ok());
    Step batch;
    batch.rows = std::ssize(rows);
    batch.labels = step.labels;
    batch.minibatch = Positions(step.seeds.front().ids);
    return batch;
  }
  static Minibatch Positions(const std::vector<int64_t>& ids) {
    Minibatch minibatch;
    std::vector<int64_t> unique;
    std::vector<int32_t> positions;
    for (const int64_t id : ids) {
      const auto found = std::find(unique.begin(), unique.end(), id);
      positions.push_back(static_cast<int32_t>(found - unique.begin()));
      if (found == unique.end()) unique.push_back(id);
    }
    minibatch.nodes = {unique};
    minibatch.seed_positions = {positions};
    return minibatch;
  }
  // Model outputs of a batch: rows of `table` by global id.
  static std::vector<torch::Tensor> OutputsOf(const Step& batch, const torch::Tensor& table) {
    return {table.index_select(0, torch::tensor(batch.minibatch.nodes.front()))};
  }
  static torch::Tensor Table(uint64_t seed) {
    torch::manual_seed(seed);
    return torch::randn({kNodes, kDim});
  }
  // The seeds as global ids.
  static std::vector<int64_t> SeedsOf(const Step& batch) {
    std::vector<int64_t> ids;
    for (const int32_t position : batch.minibatch.seed_positions.front()) {
      ids.push_back(batch.minibatch.nodes.front()[position]);
    }
    return ids;
  }
  static double Dot(const torch::Tensor& table, int64_t u, int64_t v) {
    return (table[u] * table[v]).sum().item<double>();
  }
  static double Softplus(double x) { return std::log1p(std::exp(x)); }

  // The figures of a set by both passes of a sweep, on one rank.
  static std::vector<double> Swept(TrainingTask& task, BatchPurpose set, const torch::Tensor& table,
                                   Communicator& ranks) {
    const SeedSource& source = *task.source(set);
    const auto sweep = task.StartSweep(set);
    const IdRange shard = SplitRows(source.part_rows(), ranks.world_size()).of_rank[ranks.rank()];
    for (int64_t row = shard.begin; row < shard.end; ++row) {
      const Step batch = BatchOf(source, {row});
      sweep->AddRows(OutputsOf(batch, table), batch);
    }
    EXPECT_TRUE(sweep->Meet(ranks).ok());
    EXPECT_THAT(sweep->node_types(), testing::ElementsAre(0));
    const IdRange nodes = {kNodes * ranks.rank() / ranks.world_size(),
                           kNodes * (ranks.rank() + 1) / ranks.world_size()};
    for (int64_t first = nodes.begin; first < nodes.end; first += 3) {
      std::vector<int64_t> ids;
      for (int64_t id = first; id < std::min(first + 3, nodes.end); ++id) ids.push_back(id);
      Step batch;
      batch.minibatch = Positions(ids);
      sweep->AddNodes(0, OutputsOf(batch, table), batch);
    }
    std::vector<double> sums(task.metric().sums);
    EXPECT_TRUE(sweep->Finish(ranks, sums).ok());
    return sums;
  }

  static inline std::unique_ptr<TestFolder> folder_;
  static inline Stores stores_;
};

TEST_F(LinkPredictionTest, HasTheTasksSetsAndWhatTheScoreLearns) {
  const auto dot = Open(Options());
  EXPECT_EQ(dot->output_dim(), kDim);
  EXPECT_TRUE(dot->parameters().empty());
  EXPECT_EQ(dot->source(BatchPurpose::kTrain)->rows(), 16);
  EXPECT_EQ(dot->Facts()["valid_rows"], 2);
  EXPECT_EQ(dot->Facts()["task_relations"], 2);
  EXPECT_FALSE(dot->can_predict());
  const auto distmult = Open(Options(LinkScore::kDistMult));
  ASSERT_EQ(distmult->parameters().size(), 1U);
  EXPECT_EQ(distmult->parameters()[0].sizes(), (std::vector<int64_t>{2, kDim}));
  EXPECT_EQ(Open(Options(LinkScore::kMlp))->parameters().size(), 5U);
}

TEST_F(LinkPredictionTest, CrossEntropyIsOfTheEdgeAndTheMeanOfItsNegatives) {
  LinkOptions options = Options();
  options.negatives = 3;
  options.ends = CorruptedEnds::kBoth;
  const auto task = Open(options);
  const Step batch = BatchOf(*task->source(BatchPurpose::kTrain), {0, 5});
  const std::vector<int64_t> seeds = SeedsOf(batch);  // 2 sources, 2 destinations, 6 tails, 6 heads
  ASSERT_EQ(seeds.size(), 16U);
  const torch::Tensor table = Table(1);
  double wanted = 0;
  for (size_t row = 0; row < 2; ++row) {
    const int64_t u = seeds[row], v = seeds[2 + row];
    double tails = 0, heads = 0, num_tails = 0, num_heads = 0;
    for (size_t k = 0; k < 3; ++k) {
      const int64_t tail = seeds[4 + 3 * row + k], head = seeds[10 + 3 * row + k];
      if (tail != v) tails += Softplus(Dot(table, u, tail)), ++num_tails;
      if (head != u) heads += Softplus(Dot(table, head, v)), ++num_heads;
    }
    wanted += Softplus(-Dot(table, u, v)) +
              (tails / std::max(num_tails, 1.0) + heads / std::max(num_heads, 1.0)) / 2;
  }
  EXPECT_NEAR(task->Loss(OutputsOf(batch, table), batch).sum.item<double>(), wanted, 1e-5);
}

TEST_F(LinkPredictionTest, SoftmaxIsOfTheEdgeAmongSharedNegatives) {
  LinkOptions options = Options();
  options.negatives = 4;
  options.shared = true;
  options.loss = LinkLoss::kSoftmax;
  const auto task = Open(options);
  const Step batch = BatchOf(*task->source(BatchPurpose::kTrain), {1, 9, 2});
  const std::vector<int64_t> seeds = SeedsOf(batch);
  ASSERT_EQ(seeds.size(), 3U + 3U + 4U);
  const torch::Tensor table = Table(2);
  double wanted = 0;
  for (size_t row = 0; row < 3; ++row) {
    const double score = Dot(table, seeds[row], seeds[3 + row]);
    double sum = std::exp(score);
    for (size_t k = 6; k < 10; ++k) {
      if (seeds[k] != seeds[3 + row]) sum += std::exp(Dot(table, seeds[row], seeds[k]));
    }
    wanted += std::log(sum) - score;
  }
  EXPECT_NEAR(task->Loss(OutputsOf(batch, table), batch).sum.item<double>(), wanted, 1e-5);
}

TEST_F(LinkPredictionTest, InBatchTheNextEdgesAroundTheEndAreTheNegatives) {
  LinkOptions options = Options();
  options.sampling = NegativeSampling::kInBatch;
  options.loss = LinkLoss::kSoftmax;
  for (const int64_t count : {1, 2, 50}) {
    options.negatives = count;
    const auto task = Open(options);
    const Step batch = BatchOf(*task->source(BatchPurpose::kTrain), {0, 1, 2, 3, 8});
    const std::vector<int64_t> seeds = SeedsOf(batch);
    ASSERT_EQ(seeds.size(), 10U);
    const torch::Tensor table = Table(3);
    double wanted = 0;
    for (size_t row = 0; row < 5; ++row) {
      const double score = Dot(table, seeds[row], seeds[5 + row]);
      double sum = std::exp(score);
      for (size_t k = 1; k <= static_cast<size_t>(std::min<int64_t>(count, 4)); ++k) {
        const int64_t other = seeds[5 + (row + k) % 5];
        if (other != seeds[5 + row]) sum += std::exp(Dot(table, seeds[row], other));
      }
      wanted += std::log(sum) - score;
    }
    EXPECT_NEAR(task->Loss(OutputsOf(batch, table), batch).sum.item<double>(), wanted, 1e-5);
  }
}

TEST_F(LinkPredictionTest, AnEdgeAloneInABatchHasNoNegativeAndIsNotRanked) {
  LinkOptions options = Options();
  options.sampling = NegativeSampling::kInBatch;
  const auto task = Open(options);
  const Step batch = BatchOf(*task->source(BatchPurpose::kTrain), {4});
  const torch::Tensor table = Table(3);
  const std::vector<int64_t> seeds = SeedsOf(batch);
  const auto outputs = OutputsOf(batch, table);
  EXPECT_NEAR(task->Loss(outputs, batch).sum.item<double>(),
              Softplus(-Dot(table, seeds[0], seeds[1])), 1e-5);
  std::vector<double> sums(task->metric().sums);
  task->Measure(task->Loss(outputs, batch).scores, batch, sums);
  EXPECT_TRUE(std::isnan(task->MetricOf(sums)));
}

// Every score and way to draw gives gradients that finite differences give too.
TEST_F(LinkPredictionTest, GradientsOfEveryScoreAreThoseOfFiniteDifferences) {
  for (const LinkScore score : {LinkScore::kDot, LinkScore::kDistMult, LinkScore::kMlp}) {
    for (const LinkLoss loss : {LinkLoss::kCrossEntropy, LinkLoss::kSoftmax}) {
      LinkOptions options = Options(score);
      options.negatives = 2;
      options.ends = CorruptedEnds::kBoth;
      options.loss = loss;
      const auto task = Open(options);
      const Step batch = BatchOf(*task->source(BatchPurpose::kTrain), {0, 9, 14});
      torch::Tensor rows = OutputsOf(batch, Table(4)).front().clone().requires_grad_();
      std::vector<torch::Tensor> variables = task->parameters();
      variables.push_back(rows);
      task->Loss({rows}, batch).sum.backward();
      const torch::NoGradGuard no_grad;
      for (torch::Tensor& variable : variables) {
        ASSERT_TRUE(variable.grad().defined());
        const torch::Tensor gradient = variable.grad().clone();
        for (int64_t i = 0; i < variable.numel(); i += 2) {
          auto* const value = variable.data_ptr<float>() + i;
          const float before = *value;
          constexpr float kStep = 1e-2F;
          *value = before + kStep;
          const auto above = task->Loss({rows}, batch).sum.item<double>();
          *value = before - kStep;
          const auto below = task->Loss({rows}, batch).sum.item<double>();
          *value = before;
          EXPECT_NEAR(gradient.view(-1)[i].item<double>(), (above - below) / (2 * kStep), 5e-3);
        }
      }
    }
  }
}

TEST_F(LinkPredictionTest, LossesOfADeviceAreTheCpusAndNobodyWaits) {
  for (const LinkScore score : {LinkScore::kDot, LinkScore::kDistMult, LinkScore::kMlp}) {
    for (const NegativeSampling sampling :
         {NegativeSampling::kUniform, NegativeSampling::kInBatch}) {
      for (const bool shared : {false, true}) {
        if (shared && sampling == NegativeSampling::kInBatch) continue;
        LinkOptions options = Options(score);
        options.negatives = 3;
        options.sampling = sampling;
        options.shared = shared;
        options.ends = CorruptedEnds::kBoth;
        options.loss = shared ? LinkLoss::kSoftmax : LinkLoss::kCrossEntropy;
        const auto task = Open(options);
        const Step batch = BatchOf(*task->source(BatchPurpose::kTrain), {0, 9, 14, 3});
        SCOPED_TRACE(testing::Message() << static_cast<int>(score) << static_cast<int>(sampling));
        ExpectLossOfCpu(*task, OutputsOf(batch, Table(4)), batch);
      }
    }
  }
}

TEST(RanksTest, AreTheMeanOfTheOptimisticAndThePessimisticOne) {
  const float none = -std::numeric_limits<float>::infinity();
  const torch::Tensor truth = torch::tensor({1.F, 2.F, 0.F});
  const torch::Tensor others =
      torch::tensor({{0.F, 2.F, 3.F, none}, {2.F, 2.F, 1.F, none}, {0.F, 0.F, 0.F, 0.F}});
  const RankCounts counts = CompareScores(truth, others);
  std::vector<double> sums(kRankSums);
  AddRanks(counts.greater, counts.equal, sums);  // ranks 3, 2, 3
  EXPECT_NEAR(sums[0], 1.0 / 3 + 1.0 / 2 + 1.0 / 3, 1e-12);
  EXPECT_EQ(sums[1], 0);
  EXPECT_EQ(sums[2], 3);
  EXPECT_EQ(sums[3], 3);
  EXPECT_EQ(sums[4], 3);
}

TEST(RanksTest, ScoresThatDifferByRoundingAreEqual) {
  const RankCounts counts =
      CompareScores(torch::tensor({100.F}), torch::tensor({{100.0001F, 99.9999F, 101.F}}));
  EXPECT_EQ(counts.equal.item<int64_t>(), 2);
  EXPECT_EQ(counts.greater.item<int64_t>(), 1);
}

TEST(RanksTest, AScoreThatIsNoNumberRanksLast) {
  const float none = -std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const RankCounts counts =
      CompareScores(torch::tensor({nan, 1.F}), torch::tensor({{0.F, 2.F, none}, {nan, 0.F, none}}));
  EXPECT_TRUE(torch::equal(counts.greater, torch::tensor({2, 1}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(counts.equal, torch::tensor({0, 0}, torch::kInt64)));
}

// What every other node scores, by hand; nodes of other known edges are left out.
TEST_F(LinkPredictionTest, FilteredRanksAreAmongAllNodesButThoseOfOtherKnownEdges) {
  LinkOptions options = Options(LinkScore::kDistMult);
  options.ends = CorruptedEnds::kBoth;
  const auto task = Open(options);
  const torch::Tensor table = Table(6);
  const torch::Tensor weights = task->parameters().front()[0].detach();  // of r0
  const auto score = [&](int64_t u, int64_t v) {
    return (table[u] * weights * table[v]).sum().item<double>();
  };
  std::vector<double> wanted(kRankSums);
  for (const auto& [u, v] : {std::pair<int64_t, int64_t>{0, 4}, {1, 5}}) {
    int64_t tail_rank = 1, head_rank = 1;
    for (int64_t other = 0; other < kNodes; ++other) {
      // Of the train set: u -> u + 1 and v - 1 -> v.
      if (other != v && other != u + 1 && score(u, other) > score(u, v)) ++tail_rank;
      if (other != u && other != v - 1 && score(other, v) > score(u, v)) ++head_rank;
    }
    for (const int64_t rank : {tail_rank, head_rank}) {
      wanted[0] += 1.0 / static_cast<double>(rank);
      wanted[1] += rank <= 1 ? 1 : 0;
      wanted[2] += rank <= 3 ? 1 : 0;
      wanted[3] += rank <= 10 ? 1 : 0;
      wanted[4] += 1;
    }
  }
  const torch::NoGradGuard no_grad;
  const auto alone = *Communicator::Join({});
  const std::vector<double> found = Swept(*task, BatchPurpose::kValid, table, *alone);
  for (size_t i = 0; i < kRankSums; ++i) EXPECT_NEAR(found[i], wanted[i], 1e-12) << i;
  EXPECT_NEAR(task->MetricOf(found), wanted[0] / 4, 1e-12);
  const auto others = task->MoreMetrics(found);
  ASSERT_EQ(others.size(), 3U);
  EXPECT_EQ(others[2].key, "hits_at_10");
  EXPECT_EQ(others[2].value, 1);
}

TEST_F(LinkPredictionTest, RanksOfARunTogetherFindWhatOneDoes) {
  LinkOptions options = Options(LinkScore::kMlp);
  options.ends = CorruptedEnds::kBoth;
  const torch::Tensor table = Table(7);
  const auto alone_task = Open(options);
  std::vector<double> alone;
  {
    const torch::NoGradGuard no_grad;
    const auto alone_rank = *Communicator::Join({});
    alone = Swept(*alone_task, BatchPurpose::kValid, table, *alone_rank);
  }
  std::vector<std::vector<double>> found(3);
  std::vector<std::unique_ptr<TrainingTask>> tasks;
  for (int rank = 0; rank < 3; ++rank) tasks.push_back(Open(options, {rank, 3}));
  RunRanks(3, [&](std::unique_ptr<Communicator> ranks) {
    const torch::NoGradGuard no_grad;
    const int rank = ranks->rank();
    found[rank] = Swept(*tasks[rank], BatchPurpose::kValid, table, *ranks);
  });
  for (size_t i = 0; i < kRankSums; ++i) {
    EXPECT_NEAR(found[0][i] + found[1][i] + found[2][i], alone[i], 1e-12) << i;
  }
}

TEST_F(LinkPredictionTest, AnOptionOfNodeTasksIsRefused) {
  EXPECT_THAT(Message(OpenTask(stores_, {.node = {.metrics = {"accuracy"}}}, "").status()),
              HasSubstr("--metric is for a node task: task 'links' is a link prediction task"));
}

TEST_F(LinkPredictionTest, EdgesHeldOutThatTheGraphHasAreRefused) {
  const auto alone = *Communicator::Join({});
  const Status status = Open(Options())->CheckGraph(*stores_.graph, *alone, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("task 'links': the graph has 1 of the 1 edges of the test "
                                         "set, 1 of them of 'node:r1:node'"));
  EXPECT_THAT(Message(status), HasSubstr("--held-out keep"));
  LinkOptions keep = Options();
  keep.held_out = HeldOutEdges::kKeep;
  EXPECT_TRUE(Open(keep)->CheckGraph(*stores_.graph, *alone, nullptr).ok());
}

// Edges of one pair of node types know nothing of those of another in the same minibatch.
TEST(LinkPredictionTypedTest, AMinibatchOfSeveralTypesIsTheSumOfItsRuns) {
  TestFolder folder;
  TestGraphSpec spec{.name = "shop", .parts = 1};
  spec.node_types = {{.name = "item", .owners = std::vector<int>(6)},
                     {.name = "user", .owners = std::vector<int>(4)}};
  TestRelation likes{"user", "likes", "item", {{0, 1}, {1, 2}, {2, 5}, {3, 0}}};
  TestRelation near{"item", "near", "item", {{0, 1}, {2, 3}, {4, 5}}};
  TestRelation rates{"user", "rates", "item", {{1, 1}, {0, 4}}};
  spec.relations = {likes, near, rates};
  TestTask links{.name = "links"};
  for (const TestRelation& relation : spec.relations) {
    std::vector<int64_t> pairs;
    for (const auto& [u, v] : relation.edges) pairs.insert(pairs.end(), {u, v});
    links.sets.push_back({.set = "train",
                          .type = relation.triple(),
                          .edges = true,
                          .arrays = {MakeTensor("seeds", pairs, 2)}});
  }
  spec.tasks = {links};
  const auto stores =
      *OpenLocalStores(*WriteTestGraph(spec, folder.path() / "g"), VerifyLevel::kContents, 0);
  TaskOptions options;
  options.link = {.score = LinkScore::kDistMult,
                  .dim = kDim,
                  .sampling = NegativeSampling::kInBatch,
                  .negatives = 100,
                  .ends = CorruptedEnds::kBoth};
  const auto task = *OpenTask(stores, options, "");
  torch::manual_seed(8);
  const std::vector<torch::Tensor> tables = {torch::randn({6, kDim}), torch::randn({4, kDim})};
  const auto loss = [&](const std::vector<int64_t>& rows) {
    StepSeeds step;
    EXPECT_TRUE(task->source(BatchPurpose::kTrain)->Collect(rows, 1, &step).ok());
    Step batch;
    batch.rows = std::ssize(rows);
    batch.labels = step.labels;
    batch.minibatch.nodes = {{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3}};
    for (const auto& list : step.seeds) {
      batch.minibatch.seed_positions.emplace_back(list.ids.begin(), list.ids.end());
    }
    return task->Loss(tables, batch).sum.item<double>();
  };
  // Rows by relation: near, likes, rates. The last two join the same types.
  const auto rows = static_cast<const EdgeSeeds*>(task->source(BatchPurpose::kTrain))->edges();
  std::vector<int64_t> near_rows, other_rows, all;
  for (int64_t row = 0; row < std::ssize(rows.relations); ++row) {
    const Relation& relation =
        stores.graph->info().schema.relations[rows.relations[static_cast<size_t>(row)]];
    (relation.name == "near" ? near_rows : other_rows).push_back(row);
    all.insert(all.begin(), row);
  }
  ASSERT_EQ(near_rows.size(), 3U);
  ASSERT_EQ(other_rows.size(), 6U);
  EXPECT_NEAR(loss(all), loss(near_rows) + loss(other_rows), 1e-5);
  EXPECT_GT(std::abs(loss(near_rows) - loss(other_rows)), 1e-3);
}

TEST(LinkPredictionOpenTest, ATypeOfOneNodeHasNoNegatives) {
  TestFolder folder;
  TestGraphSpec spec{.name = "one", .parts = 1};
  spec.node_types = {{.name = "hub", .owners = {0}}, {.name = "leaf", .owners = {0, 0}}};
  spec.relations = {{"leaf", "at", "hub", {{0, 0}, {1, 0}}}};
  spec.tasks = {{.name = "links",
                 .sets = {{.set = "train",
                           .type = "leaf:at:hub",
                           .edges = true,
                           .arrays = {MakeTensor<int64_t>("seeds", {0, 0, 1, 0}, 2)}}}}};
  const auto stores =
      *OpenLocalStores(*WriteTestGraph(spec, folder.path() / "g"), VerifyLevel::kContents, 0);
  EXPECT_THAT(Message(OpenTask(stores, {}, "").status()),
              HasSubstr("node type 'hub' has 1 node, so there is no other one for a negative"));
  TaskOptions heads;
  heads.link.ends = CorruptedEnds::kHeads;
  EXPECT_TRUE(OpenTask(stores, heads, "").ok());
}

TEST_F(LinkPredictionTest, NodesThatNoTrainingEdgeHasAreCountedWhereTheirRowsAreLearnt) {
  TestGraphSpec spec = Ring();
  spec.tasks[0].sets[0].arrays = {MakeTensor<int64_t>("seeds", {0, 1, 1, 4}, 2)};
  spec.tasks[0].sets[1].arrays = {MakeTensor<int64_t>("seeds", {6, 0}, 2)};
  std::unique_ptr<TestFolder> folder;
  auto stores = OpenLocalStores(WriteGraphInto(&folder, spec), VerifyLevel::kContents, 0);
  ASSERT_TRUE(stores.ok()) << stores.status();
  const auto said = [&](const std::vector<int>& learnt, int world_size) {
    CapturedLog log;
    RunRanks(world_size, [&](const std::unique_ptr<Communicator>& ranks) {
      auto task = OpenTask(*stores, {.link = Options()}, "", {ranks->rank(), world_size});
      ASSERT_TRUE(task.ok()) << task.status();
      EXPECT_TRUE((*task)->CheckRows(*stores, *ranks, learnt, nullptr).ok());
    });
    return log.End();
  };
  for (const int world_size : {1, 2, 3}) {  // 0, 4, 1 and 5 are asked for, and 2 and 3
    EXPECT_THAT(
        said({0}, world_size),
        HasSubstr("of the 6 nodes of type 'node' that edges of the validation and test sets "
                  "have, 3 are in no edge of the train set"));
  }
  EXPECT_EQ(said({}, 1), "") << "features say what such a node is";
}

// Two heads, of which both like item 0, and one likes item 1.
TEST(LinkRowsTest, AnswersWithoutARivalAreCountedAndTold) {
  TestGraphSpec spec{.name = "liked", .parts = 2};
  spec.node_types = {{.name = "item", .owners = {0, 1, 1}}, {.name = "user", .owners = {0, 1}}};
  const TestRelation likes{"user", "likes", "item", {{0, 0}}};
  spec.relations = {likes};
  const auto set = [&](const std::string& name, const std::vector<int64_t>& pairs) {
    return TestTaskSet{.set = name,
                       .type = likes.triple(),
                       .edges = true,
                       .arrays = {MakeTensor("seeds", pairs, 2)}};
  };
  spec.tasks = {{.name = "links",
                 .sets = {set("train", {0, 0}), set("valid", {1, 0, 1, 1}), set("test", {0, 2})}}};
  std::unique_ptr<TestFolder> folder;
  auto stores = OpenLocalStores(WriteGraphInto(&folder, spec), VerifyLevel::kContents, 0);
  ASSERT_TRUE(stores.ok()) << stores.status();
  const auto said = [&](CorruptedEnds ends, int64_t eval_negatives, int world_size) {
    CapturedLog log;
    RunRanks(world_size, [&](const std::unique_ptr<Communicator>& ranks) {
      const LinkOptions link{.dim = kDim, .ends = ends, .eval_negatives = eval_negatives};
      auto task = OpenTask(*stores, {.link = link}, "", {ranks->rank(), world_size});
      ASSERT_TRUE(task.ok()) << task.status();
      EXPECT_TRUE((*task)->CheckRows(*stores, *ranks, {}, nullptr).ok());
    });
    return log.End();
  };
  for (const int world_size : {1, 2}) {
    const std::string heads = said(CorruptedEnds::kHeads, 0, world_size);
    EXPECT_THAT(heads, HasSubstr("1 of the 2 answers that the valid set asks for have no rival"));
    EXPECT_THAT(heads, testing::Not(HasSubstr("the test set asks for")));
  }
  EXPECT_EQ(said(CorruptedEnds::kTails, 0, 1), "");
  EXPECT_EQ(said(CorruptedEnds::kHeads, 10, 1), "");
}

}  // namespace
}  // namespace halograph

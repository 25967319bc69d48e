// Multi-label, regression, class weights, several metrics and several node types.
#include "trainer/tasks/node_task.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_log.h"
#include "tests/support/opened_graph.h"
#include "tests/support/ranks.h"
#include "tests/unit/trainer_tasks/loss_on_device.h"
#include "trainer/tasks/registry.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class NodeTaskTest : public OpenedGraphTest {
 protected:
  // Twelve nodes whose train set is of nodes 0, 1, 2 and 3; no other set.
  template <typename T>
  void OpenLabelled(const std::vector<T>& labels, int64_t columns = 0,
                    Json metadata = Json::object()) {
    TestGraphSpec spec = RandomGraph({.parts = 2, .nodes = 12});
    spec.tasks[0].metadata = std::move(metadata);
    spec.tasks[0].sets.resize(1);
    spec.tasks[0].sets[0].arrays = {MakeTensor<int64_t>("seeds", {0, 1, 2, 3}),
                                    MakeTensor("labels", labels, columns)};
    Open(spec);
  }
  StatusOr<std::unique_ptr<TrainingTask>> Try(const NodeTaskOptions& node) {
    return OpenTask(stores_, TaskOptions{.node = node}, "");
  }
  std::unique_ptr<TrainingTask> Task(const NodeTaskOptions& node = {}) {
    auto task = Try(node);
    EXPECT_TRUE(task.ok()) << task.status();
    return task.ok() ? std::move(*task) : nullptr;
  }
  // Three rows of three seeds, of two unique ones: 1, 0, 1.
  template <typename T>
  static Step BatchOf(DType dtype, int64_t dim, const std::vector<T>& labels) {
    Step batch;
    batch.minibatch.seed_positions = {{1, 0, 1}};
    batch.seed_types = {0};
    batch.rows = 3;
    const auto bytes = std::as_bytes(std::span(labels));
    batch.labels = {.dtype = dtype, .dim = dim, .data = {bytes.begin(), bytes.end()}};
    return batch;
  }
  static double Measured(TrainingTask& task, const std::vector<torch::Tensor>& outputs,
                         const Step& batch) {
    std::vector<double> sums(task.metric().sums);
    task.Measure(task.Loss(outputs, batch).scores, batch, sums);
    return task.MetricOf(sums);
  }
};

// ---- multi-label -------------------------------------------------------------------------------

TEST_F(NodeTaskTest, MultiLabelLossIsTheMeanOfBinaryCrossEntropyOverKnownLabels) {
  OpenLabelled<int8_t>({1, 0, 0, 1, 1, -1, 0, 0}, 2);
  const auto task = Task();
  EXPECT_EQ(task->output_dim(), 2);
  EXPECT_EQ(task->Facts()["task_kind"], "multi-label");
  EXPECT_EQ(task->Facts()["num_labels"], 2);
  const std::vector<torch::Tensor> outputs = {torch::tensor({{5.F, -2.F}, {0.5F, 4.F}})};
  const auto loss = [](double logit, double label) {
    const double share = 1 / (1 + std::exp(-logit));
    return -(label * std::log(share) + (1 - label) * std::log(1 - share));
  };
  Step batch = BatchOf<int8_t>(DType::kInt8, 2, {1, 0, 1, 0, 0, 1});
  EXPECT_NEAR(
      task->Loss(outputs, batch).sum.item<double>(),
      (loss(0.5, 1) + loss(4, 0) + loss(5, 1) + loss(-2, 0) + loss(0.5, 0) + loss(4, 1)) / 2, 1e-5);
  batch = BatchOf<int8_t>(DType::kInt8, 2, {-1, 0, -1, -1, 0, 1});
  EXPECT_NEAR(task->Loss(outputs, batch).sum.item<double>(),
              loss(4, 0) + (loss(0.5, 0) + loss(4, 1)) / 2, 1e-5);
  EXPECT_DOUBLE_EQ(Measured(*task, outputs, batch), 2.0 / 4) << "1 right, 2 given wrongly";
}

TEST_F(NodeTaskTest, LabelsThatAreNotKnownGiveNoGradient) {
  OpenLabelled<int8_t>({1, 0, 0, 1, 1, -1, 0, 0}, 2);
  const auto task = Task();
  const torch::Tensor output = torch::randn({2, 2}).requires_grad_();
  const Step batch = BatchOf<int8_t>(DType::kInt8, 2, {1, -1, -1, -1, 0, -1});
  task->Loss({output}, batch).sum.backward();
  EXPECT_TRUE(torch::equal(output.grad().select(1, 1), torch::zeros({2})));
  EXPECT_EQ(output.grad()[0][0].item<float>(), 0);
  EXPECT_NE(output.grad()[1][0].item<float>(), 0);
}

TEST_F(NodeTaskTest, MultiLabelPredictsZerosAndOnesProbabilitiesAndLogits) {
  OpenLabelled<int8_t>({1, 0, 0, 1, 1, -1, 0, 0}, 2);
  const auto task = Task();
  const std::vector<torch::Tensor> outputs = {torch::tensor({{5.F, -2.F}, {0.5F, 4.F}})};
  const Step batch = BatchOf<int8_t>(DType::kInt8, 2, {1, 0, 1, 0, 0, 1});
  EXPECT_TRUE(torch::equal(task->Predict(PredictWhat::kClass, outputs, batch),
                           torch::tensor({{1, 1}, {1, 0}, {1, 1}}, torch::kInt64)));
  const torch::Tensor logits = task->Predict(PredictWhat::kLogits, outputs, batch);
  EXPECT_TRUE(torch::equal(logits, torch::tensor({{0.5F, 4.F}, {5.F, -2.F}, {0.5F, 4.F}})));
  EXPECT_TRUE(torch::allclose(task->Predict(PredictWhat::kProbabilities, outputs, batch),
                              logits.sigmoid()));
  EXPECT_EQ(task->PredictionColumns(PredictWhat::kClass), 2);
  EXPECT_EQ(*task->WhatToPredict(PredictWhat::kClass), PredictWhat::kClass);
}

// ---- regression --------------------------------------------------------------------------------

TEST_F(NodeTaskTest, RegressionLossIsTheSquaredErrorOfRowsThatHaveAllValues) {
  OpenLabelled<double>({1, 0.5, 2, 2, kNan, 1, 3, 3}, 2);
  const auto task = Task();
  EXPECT_EQ(task->Facts()["num_values"], 2);
  const std::vector<torch::Tensor> outputs = {torch::tensor({{5.F, -2.F}, {0.5F, 4.F}})};
  Step batch = BatchOf<float>(DType::kFloat32, 2, {1.5F, 4, 3, -2, 0.5F, 1});
  EXPECT_DOUBLE_EQ(task->Loss(outputs, batch).sum.item<double>(), (1.0 + 4 + 9) / 2);
  EXPECT_DOUBLE_EQ(Measured(*task, outputs, batch), std::sqrt(14.0 / 6));
  batch = BatchOf<float>(DType::kFloat32, 2, {1.5F, 4, 3, -2, 0.5F, kNan});
  EXPECT_DOUBLE_EQ(task->Loss(outputs, batch).sum.item<double>(), (1.0 + 4) / 2);
  EXPECT_DOUBLE_EQ(Measured(*task, outputs, batch), std::sqrt(5.0 / 4));
  batch = BatchOf<float>(DType::kFloat32, 2, {kNan, 4, kNan, -2, 0.5F, kNan});
  EXPECT_EQ(task->Loss(outputs, batch).sum.item<double>(), 0);
  EXPECT_TRUE(std::isnan(Measured(*task, outputs, batch)));
}

TEST_F(NodeTaskTest, RegressionPredictsValuesAndNothingElse) {
  OpenLabelled<float>({1, 0.5, 2, 2});
  const auto task = Task({.metrics = {"mae"}});
  EXPECT_EQ(task->metric().key, "mae");
  EXPECT_EQ(*task->WhatToPredict(PredictWhat::kClass), PredictWhat::kValues);
  EXPECT_EQ(*task->WhatToPredict(PredictWhat::kEmbeddings), PredictWhat::kEmbeddings);
  EXPECT_THAT(Message(task->WhatToPredict(PredictWhat::kLogits).status()),
              AllOf(HasSubstr("--predict-what logits"), HasSubstr("has values")));
  const Step batch = BatchOf<float>(DType::kFloat32, 1, {1, 2, 3});
  const torch::Tensor output = torch::tensor({{5.F}, {0.5F}});
  EXPECT_TRUE(torch::equal(task->Predict(PredictWhat::kValues, {output}, batch),
                           torch::tensor({{0.5F}, {5.F}, {0.5F}})));
}

TEST_F(NodeTaskTest, ClassificationHasNoValues) {
  OpenLabelled<int64_t>({1, 0, 2, 2});
  EXPECT_THAT(Message(Task()->WhatToPredict(PredictWhat::kValues).status()),
              HasSubstr("values is for regression"));
}

// ---- several metrics ---------------------------------------------------------------------------

TEST_F(NodeTaskTest, TheFirstMetricDecidesAndTheOthersComeOfTheSameSums) {
  OpenLabelled<int64_t>({1, 0, 1, 1});
  const auto task = Task({.metrics = {"macro-f1", "accuracy", "roc-auc"}});
  EXPECT_EQ(task->metric().key, "macro_f1");
  EXPECT_TRUE(task->ClassCounts(BatchPurpose::kTrain).empty()) << "no share of right rows";
  const std::vector<torch::Tensor> outputs = {torch::tensor({{5.F, -2.F}, {0.5F, 4.F}})};
  Step batch = BatchOf<int64_t>(DType::kInt64, 1, {1, 0, 0});
  std::vector<double> sums(task->metric().sums);
  task->Measure(task->Loss(outputs, batch).scores, batch, sums);
  EXPECT_DOUBLE_EQ(task->MetricOf(sums), 2.0 / 3);
  const auto more = task->MoreMetrics(sums);
  ASSERT_EQ(more.size(), 2U);
  EXPECT_EQ(more[0].key, "acc");
  EXPECT_DOUBLE_EQ(more[0].value, 2.0 / 3);
  EXPECT_EQ(more[1].key, "roc_auc");
  EXPECT_DOUBLE_EQ(more[1].value, 0.75);
}

TEST_F(NodeTaskTest, RocAucOfASetOfOneClassIsSaidAtTheStart) {
  OpenLabelled<int64_t>({1, 1, 1, 1}, 0, {{"num_classes", 2}});
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const auto task = Task({.metrics = {"accuracy", "roc-auc"}});
  const std::string said =
      testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, HasSubstr("--metric roc-auc: all labels of the train set"));
  std::vector<double> sums(task->metric().sums);
  const Step batch = BatchOf<int64_t>(DType::kInt64, 1, {1, 1, 1});
  task->Measure(task->Loss({torch::randn({2, 2})}, batch).scores, batch, sums);
  EXPECT_FALSE(std::isnan(task->MetricOf(sums)));
  EXPECT_TRUE(std::isnan(task->MoreMetrics(sums)[0].value));
}

// ---- the rows of all ranks ---------------------------------------------------------------------

TEST_F(NodeTaskTest, ATrainSetWithoutALabelIsRefusedAndOneLabelOfAnyRankIsEnough) {
  const auto check = [&](int world_size, absl::StatusCode expected) {
    RunRanks(world_size, [&](const std::unique_ptr<Communicator>& ranks) {
      auto task = OpenTask(stores_, {}, "", {ranks->rank(), world_size});
      ASSERT_TRUE(task.ok()) << task.status();
      const Status status = (*task)->CheckRows(stores_, *ranks, {}, nullptr);
      EXPECT_EQ(status.code(), expected) << status;
      const bool refused =
          Message(status).find("no row of the train set has a label") != std::string::npos;
      EXPECT_EQ(refused, expected != absl::StatusCode::kOk) << status;
    });
  };
  for (const int world_size : {1, 2}) {
    OpenLabelled<int64_t>({-1, -1, -1, -1}, 0, {{"num_classes", 3}});
    check(world_size, absl::StatusCode::kFailedPrecondition);
    OpenLabelled<int64_t>({-1, -1, -1, 2}, 0, {{"num_classes", 3}});
    check(world_size, absl::StatusCode::kOk);
    OpenLabelled<float>({kNan, 1, 1, kNan, kNan, kNan, 2, kNan}, 2);
    check(world_size, absl::StatusCode::kFailedPrecondition);
    OpenLabelled<int8_t>({-1, -1, -1, 0, -1, -1, -1, -1}, 2);
    check(world_size, absl::StatusCode::kOk);
  }
}

TEST_F(NodeTaskTest, WhatLabelsAreProbablyNotMeantToBeIsToldBeforeTraining) {
  const auto said = [&](const std::vector<int64_t>& labels, const std::vector<int64_t>& valid) {
    TestGraphSpec spec = RandomGraph({.parts = 2, .nodes = 12});
    spec.tasks[0].metadata = {{"num_classes", 3}};
    spec.tasks[0].sets.resize(valid.empty() ? 1 : 2);
    spec.tasks[0].sets[0].arrays = {MakeTensor<int64_t>("seeds", {0, 1, 10, 1}),
                                    MakeTensor("labels", labels)};
    if (!valid.empty()) {
      spec.tasks[0].sets[1].arrays = {MakeTensor<int64_t>("seeds", {4, 5}),
                                      MakeTensor("labels", valid)};
    }
    Open(spec);
    CapturedLog log;
    RunRanks(2, [&](const std::unique_ptr<Communicator>& ranks) {
      auto task = OpenTask(stores_, {}, "", {ranks->rank(), 2});
      ASSERT_TRUE(task.ok()) << task.status();
      EXPECT_TRUE((*task)->CheckRows(stores_, *ranks, {}, nullptr).ok());
    });
    return log.End();
  };
  EXPECT_THAT(said({0, 1, 2, 1}, {0, 0}), testing::Not(HasSubstr("task '")));
  EXPECT_THAT(said({0, 1, 2, 0}, {0, 1}),
              AllOf(HasSubstr("stand in the train set more than once, with labels that differ: 1."),
                    testing::Not(HasSubstr("validation"))));
  EXPECT_THAT(said({2, -1, 2, 2}, {0, 1}),
              HasSubstr("all 3 labels of the train set are class 2: a model that always names"));
  EXPECT_THAT(said({0, 1, 2, 1}, {-1, -1}),
              AllOf(HasSubstr("no row of its validation set has a label"),
                    HasSubstr("the last one counts as that")));
  EXPECT_THAT(said({0, 1, 2, 1}, {}), HasSubstr("it has no validation set, or an empty one"));
}

// ---- on a device -------------------------------------------------------------------------------

TEST_F(NodeTaskTest, LossesOfADeviceAreTheCpusAndNobodyWaits) {
  const std::vector<torch::Tensor> two = {torch::tensor({{5.F, -2.F}, {0.5F, 4.F}})};
  OpenLabelled<int8_t>({1, 0, 0, 1, 1, -1, 0, 0}, 2);
  Step labels = BatchOf<int8_t>(DType::kInt8, 2, {-1, 0, -1, -1, 0, 1});
  ExpectLossOfCpu(*Task(), two, labels);
  labels.row_weights = {2, .5, 3};
  ExpectLossOfCpu(*Task(), two, labels);
  OpenLabelled<double>({1, 0.5, 2, 2, kNan, 1, 3, 3}, 2);
  ExpectLossOfCpu(*Task(), two, BatchOf<float>(DType::kFloat32, 2, {1.5F, 4, 3, -2, 0.5F, kNan}));
  OpenLabelled<int64_t>({1, 0, 2, 2});
  const std::vector<torch::Tensor> three = {torch::tensor({{5.F, -2.F, 1.F}, {0.5F, 4.F, 2.F}})};
  Step batch = BatchOf<int64_t>(DType::kInt64, 1, {0, 1, kUnlabelled});
  ExpectLossOfCpu(*Task(), three, batch);
  ExpectLossOfCpu(*Task({.class_weights = *ParseClassWeights("2,0.5,1")}), three, batch);
  batch.row_weights = {2, .5, 3};
  ExpectLossOfCpu(*Task(), three, batch);
}

// ---- class weights -----------------------------------------------------------------------------

TEST_F(NodeTaskTest, ClassWeightsMultiplyTheLossAndAreWhatItIsDividedBy) {
  OpenLabelled<int64_t>({1, 0, 2, 2});
  const auto task = Task({.class_weights = *ParseClassWeights("2,0.5,1")});
  EXPECT_TRUE(task->weighs_rows());
  const std::vector<torch::Tensor> outputs = {torch::randn({2, 3})};
  const Step batch = BatchOf<int64_t>(DType::kInt64, 1, {0, 1, kUnlabelled});
  const torch::Tensor rows = torch::stack({outputs[0][1], outputs[0][0]});
  const torch::Tensor mean = torch::nn::functional::cross_entropy(
      rows, torch::tensor({0, 1}, torch::kInt64),
      torch::nn::functional::CrossEntropyFuncOptions().weight(torch::tensor({2.F, 0.5F, 1.F})));
  EXPECT_DOUBLE_EQ(task->LossWeight(batch), 2.5);
  EXPECT_TRUE(torch::allclose(task->Loss(outputs, batch).sum / 2.5, mean)) << "as libtorch's mean";
}

TEST_F(NodeTaskTest, BalancedWeightsCountTheRowsOfAllRanks) {
  OpenLabelled<int64_t>({2, 0, 2, 2}, 0, {{"num_classes", 4}});
  for (const int rank : {0, 1}) {
    auto task = OpenTask(stores_, {.node = {.class_weights = *ParseClassWeights("balanced")}}, "",
                         {rank, 2});
    ASSERT_TRUE(task.ok()) << task.status();
    const auto weight = [&](int64_t label) {
      return (*task)->LossWeight(
          BatchOf<int64_t>(DType::kInt64, 1, {label, kUnlabelled, kUnlabelled}));
    };
    EXPECT_DOUBLE_EQ(weight(0), 4.0 / (2 * 1));
    EXPECT_NEAR(weight(2), 4.0 / (2 * 3), 1e-7);
    EXPECT_EQ(weight(1), 0) << "no row of it to train on";
  }
}

TEST_F(NodeTaskTest, WithoutClassWeightsLabelledRowsCountAlikeAndOthersNot) {
  OpenLabelled<int64_t>({1, 0, 2, 2});
  EXPECT_FALSE(Task()->weighs_rows());
  const Step batch = BatchOf<int64_t>(DType::kInt64, 1, {0, 1, kUnlabelled});
  EXPECT_EQ(Task()->LossWeight(batch), 2);
  const auto ones = Task({.class_weights = *ParseClassWeights("1,1,1")});
  const std::vector<torch::Tensor> outputs = {torch::randn({2, 3})};
  EXPECT_EQ(ones->LossWeight(batch), 2);
  EXPECT_EQ(ones->Loss(outputs, batch).sum.item<double>(),
            Task()->Loss(outputs, batch).sum.item<double>());
}

TEST_F(NodeTaskTest, LossesAreDividedByTheRowsThatHaveALabel) {
  OpenLabelled<int8_t>({1, 0, 0, 1, 1, -1, 0, 0}, 2);
  EXPECT_EQ(Task()->LossWeight(BatchOf<int8_t>(DType::kInt8, 2, {-1, 1, -1, -1, 0, 0})), 2);
  EXPECT_FALSE(Task()->weighs_rows()) << "each row has a label";
  OpenLabelled<float>({1, 2, 3, kNan, 1, 1, 1, 1}, 2);
  EXPECT_EQ(Task()->LossWeight(BatchOf<float>(DType::kFloat32, 2, {kNan, 1, 2, 3, 4, kNan})), 1);
  EXPECT_TRUE(Task()->weighs_rows());
}

// The unlabelled row is of one rank's shard, and both must know of it.
TEST_F(NodeTaskTest, AllRanksAddUpTheLabelledRowsOfAStepWhereOneHasAnUnlabelledRow) {
  OpenLabelled<int64_t>({1, 0, 2, -1}, 0, {{"num_classes", 3}});
  RunRanks(2, [&](const std::unique_ptr<Communicator>& ranks) {
    auto task = OpenTask(stores_, {}, "", {ranks->rank(), 2});
    ASSERT_TRUE(task.ok()) << task.status();
    ASSERT_TRUE((*task)->CheckRows(stores_, *ranks, {}, nullptr).ok());
    EXPECT_TRUE((*task)->weighs_rows());
  });
}

TEST_F(NodeTaskTest, ClassWeightsThatDoNotFitAreRefused) {
  OpenLabelled<int64_t>({1, 0, 2, 2});
  const Status number = Try({.class_weights = *ParseClassWeights("1,2")}).status();
  EXPECT_EQ(number.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(number), AllOf(HasSubstr("--class-weights 1,2: 2 weights"),
                                     HasSubstr("one for each of 3 classes")));
  const Status kind =
      Try({.kind = NodeTaskKind::kRegression, .class_weights = *ParseClassWeights("balanced")})
          .status();
  EXPECT_THAT(Message(kind), HasSubstr("is regression; only classification has them"));
  for (const char* const text : {"1,0", "1,-2", "1,nan", "1,inf", "1,", "", "1;2", "balance"}) {
    EXPECT_THAT(Message(ParseClassWeights(text).status()), HasSubstr("is no weight")) << text;
  }
  EXPECT_EQ(ToString(*ParseClassWeights("1,0.25")), "1,0.25");
}

TEST_F(NodeTaskTest, AMetricOfAnotherKindIsRefused) {
  OpenLabelled<int64_t>({1, 0, 2, 2});
  EXPECT_THAT(Message(Try({.metrics = {"rmse"}}).status()),
              AllOf(HasSubstr("--metric rmse"), HasSubstr("is classification"),
                    HasSubstr("accuracy, micro-f1, macro-f1 or roc-auc")));
}

TEST_F(NodeTaskTest, AnOptionOfLinkPredictionIsRefused) {
  OpenLabelled<int64_t>({1, 0, 2, 2});
  EXPECT_THAT(
      Message(OpenTask(stores_, {.link = {.negatives = 7}}, "").status()),
      AllOf(HasSubstr("--negatives is for a link prediction task"), HasSubstr("is a node task")));
}

// ---- several node types ------------------------------------------------------------------------

TEST_F(NodeTaskTest, RowsOfSeveralNodeTypesAreReadFromTheOutputsOfEach) {
  TestGraphSpec spec = RandomTypedGraph({.nodes = 20});
  TestTask typed{.name = "typed", .metadata = {{"num_classes", 2}}};
  for (const std::string type : {"paper", "author"}) {
    typed.sets.push_back(
        {.set = "train",
         .type = type,
         .arrays = {MakeTensor<int64_t>("seeds", {0, 1}), MakeTensor<int64_t>("labels", {0, 1})}});
  }
  spec.tasks = {typed};
  Open(spec);
  const auto task = Task();
  EXPECT_EQ(task->source(BatchPurpose::kTrain)->rows(), 4);
  EXPECT_EQ(task->Facts()["train_rows"], 4);
  const Schema& schema = stores_.graph->info().schema;
  const int author = *schema.NodeTypeIndex("author"), paper = *schema.NodeTypeIndex("paper");
  Step batch = BatchOf<int64_t>(DType::kInt64, 1, {1, 1, 0});
  batch.minibatch.seed_positions = {{0}, {1, 0}};
  batch.seed_types = {author, paper};
  std::vector<torch::Tensor> outputs(3);
  outputs[author] = torch::tensor({{0.F, 3.F}});
  outputs[paper] = torch::tensor({{2.F, 0.F}, {0.F, 1.F}});
  EXPECT_DOUBLE_EQ(Measured(*task, outputs, batch), 1);
  const torch::Tensor rows = torch::tensor({{0.F, 3.F}, {0.F, 1.F}, {2.F, 0.F}});
  EXPECT_TRUE(torch::allclose(
      task->Loss(outputs, batch).sum,
      -rows.log_softmax(1).gather(1, torch::tensor({1, 1, 0}, torch::kInt64).view({3, 1})).sum()));
  // A step whose rows are all of the second type.
  batch.minibatch.seed_positions = {{1, 0, 0}};
  batch.seed_types = {paper};
  outputs[author] = torch::Tensor();
  EXPECT_DOUBLE_EQ(Measured(*task, outputs, batch), 2.0 / 3);
  EXPECT_EQ(*task->WhatToPredict(PredictWhat::kClass), PredictWhat::kClass);
  EXPECT_THAT(task->predicted_types(), testing::ElementsAre(author, paper));
}

// ---- subgraphs ---------------------------------------------------------------------------------

TEST_F(NodeTaskTest, RowsOfASubgraphAreThoseWhoseNodesItHas) {
  OpenLabelled<int64_t>({0, 1, 1, -1});
  const auto task = Task();
  StepSeeds all;
  ASSERT_TRUE(
      task->source(BatchPurpose::kTrain)->Collect(std::vector<int64_t>{0, 1, 2, 3}, 0, &all).ok());
  const std::vector<int64_t> seeds = all.seeds.front().ids;
  const LabelRows rows = all.labels;
  const std::span<const int64_t> labels = rows.As<int64_t>();
  int64_t other = 0;
  while (std::count(seeds.begin(), seeds.end(), other) > 0) ++other;

  EXPECT_TRUE(task->FindRowsInSubgraphs(stores_, false, nullptr).ok());
  const SeedSource& source = *task->source(BatchPurpose::kTrain);
  EXPECT_TRUE(source.finds_rows());
  EXPECT_EQ(source.rows(), 4);
  ASSERT_TRUE(source.Collect(std::vector<int64_t>{0, 1}, 0, &all).ok());
  EXPECT_TRUE(all.seeds.empty());
  Minibatch minibatch;
  minibatch.nodes = {{seeds[2], other, seeds[0]}};
  FoundRows found = source.FindRows(minibatch);
  EXPECT_THAT(found.positions, ElementsAre(0, 2));
  EXPECT_THAT(found.labels.As<int64_t>(), ElementsAre(labels[2], labels[0]));
  EXPECT_THAT(found.weights, ElementsAre());
  minibatch.node_weights = {2, 8, .5};
  EXPECT_THAT(source.FindRows(minibatch).weights, ElementsAre(2, .5));

  // What stands for the loss of all three labelled rows is divided by these.
  Step batch = BatchOf<int64_t>(DType::kInt64, 1, {1, -1, 0});
  EXPECT_TRUE(task->weighs_rows());
  EXPECT_EQ(task->LossWeight(batch), 2);
  batch.weighs_rows = true;
  batch.row_weights = {2, 8, .5};
  EXPECT_EQ(task->LossWeight(batch), 3);
  // Of a subgraph without rows, too: it stands for all of them.
  Step empty;
  empty.weighs_rows = true;
  EXPECT_TRUE(empty.counts());
  EXPECT_EQ(task->LossWeight(empty), 3);
  EXPECT_FALSE(Step().counts());
}

TEST_F(NodeTaskTest, NodesWithoutEdgesAreNotAmongThoseThatDrawsByEdgesCanHave) {
  TestGraphSpec spec = RandomGraph({.parts = 2, .nodes = 12});
  spec.tasks[0].sets.resize(1);
  spec.tasks[0].sets[0].arrays = {MakeTensor<int64_t>("seeds", {0, 1, 2, 3, 1}),
                                  MakeTensor<int64_t>("labels", {0, 1, 1, -1, 0})};
  spec.relations[0].edges = {{5, 1}, {1, 5}, {3, 3}, {0, 7}};  // into seeds: 1 and 3
  Open(spec);
  for (const bool by_edges : {false, true}) {
    const auto task = Task();
    ASSERT_TRUE(task->FindRowsInSubgraphs(stores_, by_edges, nullptr).ok());
    Minibatch minibatch;
    minibatch.nodes = {std::vector<int64_t>(12)};
    std::iota(minibatch.nodes[0].begin(), minibatch.nodes[0].end(), 0);
    const FoundRows found = task->source(BatchPurpose::kTrain)->FindRows(minibatch);
    EXPECT_EQ(found.positions.size(), by_edges ? 3U : 5U);
    std::vector<int64_t> labels(found.labels.As<int64_t>().begin(),
                                found.labels.As<int64_t>().end());
    const std::vector<int64_t> wanted =
        by_edges ? std::vector<int64_t>{1, 0, -1} : std::vector<int64_t>{0, 1, 1, -1, 0};
    EXPECT_THAT(labels, testing::UnorderedElementsAreArray(wanted));
    Step batch;
    batch.weighs_rows = true;
    EXPECT_EQ(task->LossWeight(batch), by_edges ? 2 : 4);
  }
  spec.relations[0].edges = {{5, 7}};
  Open(spec);
  const Status none = Task()->FindRowsInSubgraphs(stores_, true, nullptr);
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(none), HasSubstr("no node of the train set has an edge"));
}

TEST_F(NodeTaskTest, TheLossOfEachRowCountsItsWeight) {
  const std::vector<float> weights = {3, .25, 8};
  const auto expect_sum_of_rows = [&](TrainingTask& task, const torch::Tensor& outputs,
                                      Step batch) {
    double sum = 0;
    const size_t bytes = batch.labels.row_bytes();
    for (size_t row = 0; row < weights.size(); ++row) {
      Step alone;
      alone.minibatch.seed_positions = {{batch.minibatch.seed_positions[0][row]}};
      alone.seed_types = {0};
      alone.rows = 1;
      const auto first = batch.labels.data.begin() + static_cast<std::ptrdiff_t>(row * bytes);
      alone.labels = {.dtype = batch.labels.dtype,
                      .dim = batch.labels.dim,
                      .data = {first, first + static_cast<std::ptrdiff_t>(bytes)}};
      sum += weights[row] * task.Loss({outputs}, alone).sum.item<double>();
    }
    batch.row_weights = weights;
    EXPECT_NEAR(task.Loss({outputs}, batch).sum.item<double>(), sum, 1e-5 * std::abs(sum));
  };
  const torch::Tensor outputs = torch::tensor({{5.F, -2.F}, {0.5F, 4.F}});
  OpenLabelled<int64_t>({0, 1, 1, 0});
  expect_sum_of_rows(
      *Task({.class_weights = {.rule = ClassWeights::Rule::kGiven, .given = {1, 7}}}), outputs,
      BatchOf<int64_t>(DType::kInt64, 1, {1, -1, 0}));
  OpenLabelled<int8_t>({1, 0, 0, 1, 1, -1, 0, 0}, 2);
  expect_sum_of_rows(*Task(), outputs, BatchOf<int8_t>(DType::kInt8, 2, {-1, 0, -1, -1, 0, 1}));
  OpenLabelled<double>({1, 0.5, 2, 2, kNan, 1, 3, 3}, 2);
  expect_sum_of_rows(*Task(), outputs, BatchOf<float>(DType::kFloat32, 2, {1, 2, kNan, 1, 0, -3}));
}

}  // namespace
}  // namespace halograph

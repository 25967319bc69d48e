#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/opened_graph.h"
#include "trainer/seeds/labeled_seeds.h"
#include "trainer/tasks/node_task.h"
#include "trainer/tasks/registry.h"
#include "trainer/tasks/task.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NodeClassificationTest : public OpenedGraphTest {
 protected:
  // Two unique seeds, listed as 1, 0, 1, with labels 2, 0, 1.
  static Step Batch() { return BatchOf({2, 0, 1}); }
  static Step BatchOf(const std::vector<int64_t>& labels) {
    Step batch;
    batch.minibatch.seed_positions = {{1, 0, 1}};
    batch.seed_types = {0};
    batch.rows = 3;
    const auto bytes = std::as_bytes(std::span(labels));
    batch.labels.data = {bytes.begin(), bytes.end()};
    return batch;
  }
};

TEST_F(NodeClassificationTest, HasTheGraphsSetsAndClasses) {
  Open(RandomGraph({.nodes = 40, .num_classes = 5}));
  auto task = OpenTask(stores_, {}, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ((*task)->output_dim(), 5);
  EXPECT_EQ((*task)->source(BatchPurpose::kTrain)->rows(), 20);
  EXPECT_EQ((*task)->source(BatchPurpose::kValid)->rows(), 10);
  EXPECT_EQ((*task)->Facts()["test_rows"], 10);
  EXPECT_TRUE((*task)->parameters().empty());
  EXPECT_TRUE((*task)->can_predict());
}

TEST_F(NodeClassificationTest, AMissingSetIsNull) {
  TestGraphSpec spec = RandomGraph({.nodes = 40});
  spec.tasks[0].sets.pop_back();
  Open(spec);
  auto task = OpenTask(stores_, {}, "");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ((*task)->source(BatchPurpose::kTest), nullptr);
  EXPECT_EQ((*task)->Facts()["test_rows"], 0);
}

TEST_F(NodeClassificationTest, LossAndAccuracyAreOfTheListedSeeds) {
  Open(RandomGraph({.nodes = 40, .num_classes = 3}));
  auto task = std::move(*OpenTask(stores_, {}, ""));
  const Step batch = Batch();
  const std::vector<torch::Tensor> outputs = {torch::tensor({{5.F, 0.F, 0.F}, {0.F, 0.F, 4.F}})};
  const torch::Tensor rows = torch::stack({outputs[0][1], outputs[0][0], outputs[0][1]});
  const torch::Tensor wanted =
      -rows.log_softmax(1).gather(1, torch::tensor({2, 0, 1}, torch::kInt64).view({3, 1})).sum();
  EXPECT_TRUE(torch::allclose(task->Loss(outputs, batch).sum, wanted));
  std::vector<double> sums(task->metric().sums);
  task->Measure(task->Loss(outputs, batch).scores, batch, sums);
  task->Measure(task->Loss(outputs, batch).scores, batch, sums);
  EXPECT_DOUBLE_EQ(task->MetricOf(sums), 2.0 / 3);
}

TEST_F(NodeClassificationTest, PredictsClassesProbabilitiesAndLogits) {
  Open(RandomGraph({.nodes = 40, .num_classes = 3}));
  auto task = std::move(*OpenTask(stores_, {}, ""));
  const Step batch = Batch();
  const std::vector<torch::Tensor> outputs = {torch::tensor({{5.F, 0.F, 0.F}, {0.F, 0.F, 4.F}})};
  const torch::Tensor rows = torch::stack({outputs[0][1], outputs[0][0], outputs[0][1]});
  EXPECT_TRUE(torch::equal(task->Predict(PredictWhat::kClass, outputs, batch),
                           torch::tensor({2, 0, 2}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(task->Predict(PredictWhat::kLogits, outputs, batch), rows));
  EXPECT_TRUE(torch::allclose(task->Predict(PredictWhat::kProbabilities, outputs, batch),
                              rows.exp() / rows.exp().sum(1, true)));
}

TEST_F(NodeClassificationTest, ClassesAreCountedBySet) {
  TestGraphSpec spec = RandomGraph({.nodes = 8, .num_classes = 3});
  spec.tasks[0].sets[0].arrays = {MakeTensor<int64_t>("seeds", {0, 1, 2, 3, 4}),
                                  MakeTensor<int64_t>("labels", {2, 0, 2, 2, 0})};
  spec.tasks[0].sets.pop_back();
  Open(spec);
  auto task = std::move(*OpenTask(stores_, {}, ""));
  EXPECT_THAT(task->ClassCounts(BatchPurpose::kTrain), testing::ElementsAre(2, 0, 3));
  EXPECT_THAT(task->ClassCounts(BatchPurpose::kTest), testing::ElementsAre(0, 0, 0)) << "no set";
}

TEST_F(NodeClassificationTest, ATaskOfNoKnownKindIsRefusedWithTheReason) {
  TestGraphSpec spec = RandomTypedGraph({.nodes = 20});
  for (TestTask& task : spec.tasks) {
    for (TestTaskSet& set : task.sets) {
      if (set.edges) set.arrays = {MakeTensor<int64_t>("seeds", {0, 1, 2}, 3)};
    }
  }
  Open(spec);
  const Status status = OpenTask(stores_, {}, "link_prediction").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("task 'link_prediction' cannot be trained for"));
  EXPECT_THAT(Message(status), HasSubstr("edges ('paper:cites:paper')"));
  EXPECT_THAT(Message(status), HasSubstr("seeds of 3 columns, expected 2"));
}

TEST_F(NodeClassificationTest, UnlabelledSeedsCountNeitherInTheLossNorInTheAccuracy) {
  Open(RandomGraph({.nodes = 40, .num_classes = 3}));
  auto task = std::move(*OpenTask(stores_, {}, ""));
  const std::vector<torch::Tensor> outputs = {torch::tensor({{5.F, 0.F, 0.F}, {0.F, 0.F, 4.F}})};
  Step batch = BatchOf({2, kUnlabelled, kUnlabelled});
  const torch::Tensor wanted = -outputs[0][1].log_softmax(0)[2];
  EXPECT_TRUE(torch::allclose(task->Loss(outputs, batch).sum, wanted));
  std::vector<double> sums(task->metric().sums);
  task->Measure(task->Loss(outputs, batch).scores, batch, sums);
  EXPECT_DOUBLE_EQ(task->MetricOf(sums), 1);
  batch = BatchOf({kUnlabelled, kUnlabelled, kUnlabelled});
  EXPECT_EQ(task->Loss(outputs, batch).sum.item<double>(), 0);
  std::fill(sums.begin(), sums.end(), 0);
  task->Measure(task->Loss(outputs, batch).scores, batch, sums);
  EXPECT_TRUE(std::isnan(task->MetricOf(sums)));
}

TEST_F(NodeClassificationTest, FractionsAreRefusedNamingTheSeed) {
  TestGraphSpec spec = RandomGraph({.nodes = 8});
  spec.tasks[0].sets[1].arrays[1] = MakeTensor<float>("labels", {0.5F, 1});
  Open(spec);
  EXPECT_THAT(Message(OpenTask(stores_, {}, "").status()),
              AllOf(HasSubstr("original id 6 is 0.5 (float32)"),
                    HasSubstr("values are for --task-kind regression")));
}

}  // namespace
}  // namespace halograph

#include "trainer/tasks/node_metrics.h"

#include <cmath>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr auto kClasses = NodeTaskKind::kClassification;
constexpr auto kLabels = NodeTaskKind::kMultiLabel;
constexpr auto kValues = NodeTaskKind::kRegression;

std::unique_ptr<NodeMetric> Make(const std::string& name, NodeTaskKind kind, int64_t columns) {
  auto metrics = MakeNodeMetrics({name}, kind, columns, "task");
  EXPECT_TRUE(metrics.ok()) << metrics.status();
  return std::move(metrics->front());
}

// Of all rows at once; and the same of two batches whose sums are added up, which must be the same.
double ValueOf(const NodeMetric& metric, const torch::Tensor& scores, const torch::Tensor& labels) {
  std::vector<double> whole(metric.metric().sums), first(whole), second(whole);
  metric.Measure(scores, labels, whole);
  const int64_t rows = scores.size(0), cut = rows / 3;
  metric.Measure(scores.narrow(0, 0, cut), labels.narrow(0, 0, cut), first);
  metric.Measure(scores.narrow(0, cut, rows - cut), labels.narrow(0, cut, rows - cut), second);
  for (size_t i = 0; i < whole.size(); ++i) first[i] += second[i];
  const double value = metric.Of(whole);
  if (std::isnan(value)) {
    EXPECT_TRUE(std::isnan(metric.Of(first)));
  } else {
    EXPECT_NEAR(metric.Of(first), value, 1e-12);
  }
  return value;
}

torch::Tensor Classes(const std::vector<int64_t>& classes) {
  return torch::tensor(classes, torch::kInt64);
}
torch::Tensor ScoresFor(const std::vector<int64_t>& predicted, int64_t classes) {
  return torch::one_hot(Classes(predicted), classes).to(torch::kFloat32);
}

// Class 0: 2 right, 1 taken for it, 1 missed. Class 1: 1, 1, 1. Class 2: 1, 0, 0.
TEST(NodeMetricTest, F1OfClassesAgreesWithCountingByHand) {
  const torch::Tensor scores = ScoresFor({0, 0, 0, 1, 1, 2}, 4),
                      labels = Classes({0, 0, 1, 1, 0, 2});
  EXPECT_DOUBLE_EQ(ValueOf(*Make("accuracy", kClasses, 4), scores, labels), 4.0 / 6);
  EXPECT_DOUBLE_EQ(ValueOf(*Make("micro-f1", kClasses, 4), scores, labels), 4.0 / 6);
  EXPECT_DOUBLE_EQ(ValueOf(*Make("macro-f1", kClasses, 4), scores, labels),
                   (4.0 / 6 + 2.0 / 4 + 1) / 3)
      << "class 3 occurs nowhere";
}

// Label 0: 1 right, 1 wrongly given, 1 missed. Label 1: 1 right, 1 not known. Label 2: never.
TEST(NodeMetricTest, F1OfLabelsLeavesOutWhatIsNotKnown) {
  const torch::Tensor scores =
      torch::tensor({{2.F, 1.F, -1.F}, {1.F, 3.F, -2.F}, {-1.F, -1.F, -1.F}});
  const torch::Tensor labels = torch::tensor({{1, 1, 0}, {0, -1, 0}, {1, 0, -1}}, torch::kInt8);
  EXPECT_DOUBLE_EQ(ValueOf(*Make("micro-f1", kLabels, 3), scores, labels), 4.0 / 6);
  EXPECT_DOUBLE_EQ(ValueOf(*Make("macro-f1", kLabels, 3), scores, labels), (2.0 / 4 + 1) / 2);
  const torch::Tensor none = torch::full({3, 3}, -1, torch::kInt8);
  EXPECT_TRUE(std::isnan(ValueOf(*Make("micro-f1", kLabels, 3), scores, none)));
  const torch::Tensor zeros = torch::zeros({3, 3}, torch::kInt8);
  EXPECT_EQ(ValueOf(*Make("micro-f1", kLabels, 3), scores - 10, zeros), 0);
}

// Every pair of a positive and a negative row compared.
double AreaByPairs(const std::vector<double>& scores, const std::vector<int64_t>& labels) {
  double pairs = 0, above = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    for (size_t j = 0; j < scores.size(); ++j) {
      if (labels[i] != 1 || labels[j] != 0) continue;
      ++pairs;
      above += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
    }
  }
  return above / pairs;
}

// Scores spread with standard deviations of 1 and 4, and around an extreme mean.
TEST(NodeMetricTest, RocAucAgreesWithComparingAllPairs) {
  std::mt19937_64 random(7);
  for (const auto& [mean, deviation] : {std::pair{0.0, 1.0}, {0.0, 4.0}, {-9.0, 1.0}}) {
    std::vector<double> scores;
    std::vector<int64_t> labels;
    std::vector<float> logits;
    std::normal_distribution<double> noise(mean, deviation);
    for (int i = 0; i < 600; ++i) {
      labels.push_back(i % 5 == 0);
      const auto score = static_cast<float>(noise(random) + 0.7 * static_cast<double>(labels[i]));
      scores.push_back(score);
      logits.insert(logits.end(), {0.25F, score + 0.25F});
    }
    const double wanted = AreaByPairs(scores, labels);
    EXPECT_GT(wanted, 0.5);
    const torch::Tensor of_two = torch::tensor(logits).view({600, 2});
    EXPECT_NEAR(ValueOf(*Make("roc-auc", kClasses, 2), of_two, Classes(labels)), wanted, 0.002);
    const torch::Tensor alone = of_two.slice(1, 1, 2) - 0.25;
    const torch::Tensor ones = Classes(labels).view({600, 1}).to(torch::kInt8);
    EXPECT_NEAR(ValueOf(*Make("roc-auc", kLabels, 1), alone, ones), wanted, 0.002);
  }
}

TEST(NodeMetricTest, RocAucOfSeveralClassesIsTheMeanOfEachAgainstTheOthers) {
  torch::manual_seed(5);
  const torch::Tensor labels = torch::randint(0, 3, {300}, torch::kInt64);
  const torch::Tensor scores =
      torch::randn({300, 4}) + torch::one_hot(labels, 4).to(torch::kFloat32);
  const torch::Tensor shares = scores.to(torch::kFloat64).softmax(1);
  double sum = 0;
  for (int64_t c = 0; c < 3; ++c) {
    const torch::Tensor own = shares.select(1, c).contiguous();
    const torch::Tensor is = labels.eq(c).to(torch::kInt64);
    sum += AreaByPairs({own.data_ptr<double>(), own.data_ptr<double>() + 300},
                       {is.data_ptr<int64_t>(), is.data_ptr<int64_t>() + 300});
  }
  EXPECT_NEAR(ValueOf(*Make("roc-auc", kClasses, 4), scores, labels), sum / 3, 0.002)
      << "no row is of class 3";
}

TEST(NodeMetricTest, RocAucWithoutBothKindsIsNoNumber) {
  const auto metric = Make("roc-auc", kClasses, 2);
  EXPECT_TRUE(std::isnan(ValueOf(*metric, torch::randn({9, 2}), torch::ones({9}, torch::kInt64))));
  EXPECT_TRUE(std::isnan(metric->Of(std::vector<double>(metric->metric().sums))));
  const torch::Tensor nothing = torch::full({9, 2}, std::nanf(""));
  EXPECT_EQ(ValueOf(*metric, nothing, Classes({0, 1, 0, 1, 0, 1, 0, 1, 0})), 0.5) << "and no crash";
}

TEST(NodeMetricTest, ErrorsAreOverAllColumns) {
  const torch::Tensor scores = torch::tensor({{1.F, 2.F}, {3.F, 4.F}, {0.F, 0.F}});
  const torch::Tensor labels = torch::tensor({{1.F, 4.F}, {0.F, 4.F}, {0.F, 1.F}});
  EXPECT_DOUBLE_EQ(ValueOf(*Make("rmse", kValues, 2), scores, labels), std::sqrt(14.0 / 6));
  EXPECT_DOUBLE_EQ(ValueOf(*Make("mae", kValues, 2), scores, labels), 1);
  EXPECT_FALSE(Make("mae", kValues, 2)->metric().higher_is_better);
}

TEST(NodeMetricTest, EachKindHasADefaultAndRefusesWhatItHasNot) {
  const auto key = [](NodeTaskKind kind) {
    return MakeNodeMetrics({}, kind, 3, "t").value().front()->metric().key;
  };
  EXPECT_EQ(key(kClasses), "acc");
  EXPECT_EQ(key(kLabels), "micro_f1");
  EXPECT_EQ(key(kValues), "rmse");
  const Status status = MakeNodeMetrics({"micro-f1", "accuracy"}, kLabels, 3, "genres").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status),
            "--metric accuracy: task 'genres' is multi-label, which has micro-f1, macro-f1 or "
            "roc-auc");
  EXPECT_THAT(Message(MakeNodeMetrics({"roc-auc"}, kLabels, 1025, "t").status()),
              AllOf(HasSubstr("1025 columns"), HasSubstr("at most 1024")));
}

}  // namespace
}  // namespace halograph

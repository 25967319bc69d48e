#include "trainer/training/optimizer.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace halograph {
namespace {

// One step towards the minimum of the sum of squares.
void Descend(Optimizer& optimizer, torch::Tensor& x) {
  if (x.grad().defined()) x.mutable_grad().zero_();
  x.square().sum().backward();
  optimizer.Step();
}

constexpr OptimizerKind kKinds[] = {OptimizerKind::kAdam, OptimizerKind::kSgd};

TEST(OptimizerTest, EveryKindGoesDown) {
  for (const OptimizerKind kind : kKinds) {
    torch::Tensor x = torch::full({3}, 2.0F).requires_grad_();
    Optimizer optimizer(kind, {x}, 0.1, 0.001);
    for (int i = 0; i < 10; ++i) Descend(optimizer, x);
    EXPECT_LT(x.abs().max().item<float>(), 1.5F) << static_cast<int>(kind);
  }
}

TEST(OptimizerTest, TheRateOfAStepIsTheOneSetBeforeIt) {
  torch::Tensor x = torch::full({1}, 1.0F).requires_grad_();
  Optimizer optimizer(OptimizerKind::kSgd, {x}, 0.25, 0);
  Descend(optimizer, x);  // the gradient is 2x
  EXPECT_EQ(x.item<float>(), 0.5F);
  optimizer.SetLearningRate(0.125);
  Descend(optimizer, x);
  EXPECT_EQ(x.item<float>(), 0.375F);
}

TEST(OptimizerTest, AFixedRateThatIsSetAgainChangesNoBit) {
  for (const OptimizerKind kind : kKinds) {
    torch::Tensor x = torch::linspace(1, 2, 5).requires_grad_();
    torch::Tensor y = x.detach().clone().requires_grad_();
    Optimizer left(kind, {x}, 0.003, 0.001), set(kind, {y}, 0.003, 0.001);
    for (int i = 0; i < 5; ++i) {
      Descend(left, x);
      set.SetLearningRate(0.003);
      Descend(set, y);
      EXPECT_TRUE(torch::equal(x, y)) << static_cast<int>(kind) << " " << i;
    }
  }
}

TEST(ClipToNormTest, OnlyLongerGradientsAreShortenedAndKeepTheirDirection) {
  torch::Tensor gradients = torch::tensor({3.0F, 0.0F, -4.0F});
  EXPECT_EQ(ClipToNorm(gradients, 5), 5);
  EXPECT_TRUE(torch::equal(gradients, torch::tensor({3.0F, 0.0F, -4.0F})));
  EXPECT_EQ(ClipToNorm(gradients, 2.5), 5) << "the norm before";
  EXPECT_TRUE(torch::equal(gradients, torch::tensor({1.5F, 0.0F, -2.0F})));
}

TEST(ClipToNormTest, TheNormIsThatOfAllElementsOnAnyNumberOfThreads) {
  torch::manual_seed(5);
  const torch::Tensor values = torch::randn({3 * (1 << 16) + 12345});
  const auto threads = at::get_num_threads();
  std::vector<torch::Tensor> clipped;
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    clipped.push_back(values.clone());
    const double norm = ClipToNorm(clipped.back(), 1);
    EXPECT_NEAR(norm, values.to(torch::kFloat64).norm().item<double>(), 1e-9 * norm);
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(clipped[0], clipped[1]));
  EXPECT_NEAR(clipped[0].norm().item<double>(), 1, 1e-5);
}

TEST(ClipToNormTest, GradientsWithoutAFiniteNormStayAsTheyAre) {
  torch::Tensor gradients = torch::tensor({1.0F, std::numeric_limits<float>::infinity()});
  EXPECT_FALSE(std::isfinite(ClipToNorm(gradients, 1)));
  EXPECT_EQ(gradients[0].item<float>(), 1.0F);
}

TEST(OptimizerTest, OneThatIsGivenTheMomentsGoesOnBitForBit) {
  for (const OptimizerKind kind : kKinds) {
    torch::Tensor x = torch::linspace(1, 2, 5).requires_grad_();
    Optimizer optimizer(kind, {x}, 0.1, 0.001);
    const size_t count = optimizer.Moments().size();
    EXPECT_EQ(count, kind == OptimizerKind::kAdam ? 3U : 0U);
    for (int i = 0; i < 3; ++i) Descend(optimizer, x);
    torch::Tensor y = x.detach().clone().requires_grad_();
    Optimizer other(kind, {y}, 0.1, 0.001);
    other.SetMoments(optimizer.Moments());
    for (int i = 0; i < 3; ++i) {
      Descend(optimizer, x);
      Descend(other, y);
      EXPECT_TRUE(torch::equal(x, y)) << static_cast<int>(kind) << " " << i;
    }
    ASSERT_EQ(other.Moments().size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(torch::equal(other.Moments()[i], optimizer.Moments()[i]));
    }
  }
}

TEST(OptimizerTest, OneRestoredFromTensorsGoesOnBitForBit) {
  for (const OptimizerKind kind : kKinds) {
    torch::Tensor x = torch::linspace(1, 2, 5).requires_grad_();
    Optimizer optimizer(kind, {x}, 0.1, 0.001);
    EXPECT_TRUE(optimizer.StateTensors().empty()) << "no step was made";
    for (int i = 0; i < 3; ++i) Descend(optimizer, x);
    EXPECT_EQ(optimizer.StateTensors().size(), kind == OptimizerKind::kAdam ? 3U : 0U);
    torch::Tensor y = x.detach().clone().requires_grad_();
    Optimizer other(kind, {y}, 0.1, 0.001);
    ASSERT_TRUE(other.RestoreTensors(optimizer.StateTensors()).ok());
    for (int i = 0; i < 3; ++i) {
      Descend(optimizer, x);
      Descend(other, y);
      EXPECT_TRUE(torch::equal(x, y)) << static_cast<int>(kind) << " " << i;
    }
  }
}

TEST(OptimizerTest, TensorsThatDoNotFitAreRefused) {
  torch::Tensor x = torch::ones({5}).requires_grad_();
  Optimizer adam(OptimizerKind::kAdam, {x}, 0.1, 0);
  Descend(adam, x);
  const auto whole = adam.StateTensors();
  const auto refused = [&](const std::map<std::string, torch::Tensor>& state) {
    Optimizer restored(OptimizerKind::kAdam, {x}, 0.1, 0);
    return restored.RestoreTensors(state).code() == absl::StatusCode::kFailedPrecondition;
  };
  EXPECT_FALSE(refused(whole));
  for (const auto& [name, tensor] : whole) {
    auto state = whole;
    state[name] = torch::ones({4});
    EXPECT_TRUE(refused(state)) << name << " of another shape";
    state.erase(name);
    EXPECT_TRUE(refused(state)) << "without " << name;
  }
  auto state = whole;
  state["1.step"] = torch::zeros({}, torch::kInt64);
  EXPECT_TRUE(refused(state)) << "of a parameter that there is not";
  EXPECT_EQ(Optimizer(OptimizerKind::kSgd, {x}, 0.1, 0).RestoreTensors(whole).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace halograph

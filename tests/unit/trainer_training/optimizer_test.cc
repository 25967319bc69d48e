#include "trainer/training/optimizer.h"

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

TEST(OptimizerTest, ARestoredOneGoesOnBitForBit) {
  for (const OptimizerKind kind : kKinds) {
    torch::Tensor x = torch::linspace(1, 2, 5).requires_grad_();
    Optimizer optimizer(kind, {x}, 0.1, 0.001);
    for (int i = 0; i < 3; ++i) Descend(optimizer, x);
    torch::Tensor y = x.detach().clone().requires_grad_();
    Optimizer restored(kind, {y}, 0.1, 0.001);
    restored.RestoreState(optimizer.SaveState());
    for (int i = 0; i < 3; ++i) {
      Descend(optimizer, x);
      Descend(restored, y);
      EXPECT_TRUE(torch::equal(x, y)) << static_cast<int>(kind) << " " << i;
    }
  }
}

}  // namespace
}  // namespace halograph

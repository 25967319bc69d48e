#include "trainer/distributed/gradients.h"

#include <gtest/gtest.h>

#include "tests/support/ranks.h"

namespace halograph {
namespace {

TEST(GradientBufferTest, BackwardAddsToTheBufferAndZeroClears) {
  torch::nn::Linear linear(2, 3);
  GradientBuffer gradients(linear->parameters());
  EXPECT_EQ(gradients.flat().numel(), 9);
  linear(torch::ones({4, 2})).sum().backward();
  EXPECT_TRUE(torch::equal(gradients.flat(), torch::full({9}, 4.0F)));
  gradients.Zero();
  EXPECT_EQ(linear->weight.grad().abs().sum().item<float>(), 0);
  linear(torch::ones({1, 2})).sum().backward();
  EXPECT_TRUE(torch::equal(gradients.flat(), torch::ones({9})));
}

TEST(GradientBufferTest, AllReduceReachesTheParameters) {
  RunRanks(3, [](std::unique_ptr<Communicator> ranks) {
    torch::Tensor weight = torch::zeros({2}).requires_grad_(true);
    GradientBuffer gradients({weight});
    (weight * static_cast<float>(ranks->rank() + 1)).sum().backward();
    ASSERT_TRUE(gradients.AllReduce(*ranks).ok());
    EXPECT_EQ(weight.grad()[1].item<float>(), 6);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(GradientBufferTest, AllRanksLearnWhatOneAsksFor) {
  RunRanks(3, [](std::unique_ptr<Communicator> ranks) {
    torch::Tensor weight = torch::zeros({2}).requires_grad_(true);
    GradientBuffer gradients({weight});
    for (const int who : {3, 1, 3}) {
      StepAsks stop{.stop = ranks->rank() == who};
      ASSERT_TRUE(gradients.AllReduce(*ranks, &stop).ok());
      EXPECT_EQ(stop, StepAsks{.stop = who < 3});
      StepAsks both{.stop = ranks->rank() == who, .checkpoint = ranks->rank() == 0};
      ASSERT_TRUE(gradients.AllReduce(*ranks, &both).ok());
      EXPECT_EQ(both, (StepAsks{.stop = who < 3, .checkpoint = true}));
      StepAsks time{.time_up = ranks->rank() == 2};
      ASSERT_TRUE(gradients.AllReduce(*ranks, &time).ok());
      EXPECT_EQ(time, StepAsks{.time_up = true});
    }
    EXPECT_EQ(gradients.flat().numel(), 2);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(BroadcastParametersTest, AllRanksHaveRankZerosWeights) {
  RunRanks(2, [](std::unique_ptr<Communicator> ranks) {
    torch::Tensor weight = torch::full({2, 2}, ranks->rank() + 5.0F).requires_grad_(true);
    ASSERT_TRUE(BroadcastParameters({weight}, *ranks).ok());
    EXPECT_EQ(weight[1][1].item<float>(), 5);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

}  // namespace
}  // namespace halograph

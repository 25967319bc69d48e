#include "trainer/distributed/model_average.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/ranks.h"

namespace halograph {
namespace {

TEST(ModelAverageTest, IsTheMeanWeightedByRowsOverPartsAndRanks) {
  // Parts of 1, 2, 3... rows; rank r has r + 1 of them, each ends with a weight of its own.
  RunRanks(3, [](std::unique_ptr<Communicator> ranks) {
    torch::Tensor weight = torch::full({2, 2}, 7.0F).requires_grad_(true);
    torch::Tensor buffer = torch::zeros({3});
    ModelAverage average({weight, buffer});
    for (int part = 0; part <= ranks->rank(); ++part) {
      average.Restart();
      EXPECT_EQ(weight[0][0].item<float>(), 7) << "each starts from the last mean";
      const int number = ranks->rank() * (ranks->rank() + 1) / 2 + part;  // 0 to 5
      {
        const torch::NoGradGuard no_grad;
        weight.add_(static_cast<float>(number));
        buffer.fill_(static_cast<float>(number));
      }
      average.Add(number + 1);
    }
    bool stop = false;
    ASSERT_TRUE(average.Meet(*ranks, "the average", &stop).ok());
    EXPECT_FALSE(stop);
    // sum of i (i + 1) / sum of (i + 1), i from 0 to 5: 70 / 21.
    EXPECT_FLOAT_EQ(weight[1][1].item<float>(), 7 + 70.0F / 21);
    EXPECT_FLOAT_EQ(buffer[2].item<float>(), 70.0F / 21);
    EXPECT_TRUE(weight.requires_grad());
    // The next round begins anew, from this mean.
    average.Restart();
    EXPECT_FLOAT_EQ(buffer[0].item<float>(), 70.0F / 21);
    if (ranks->rank() == 1) average.Add(5);
    ASSERT_TRUE(average.Meet(*ranks, "the average", &stop).ok());
    EXPECT_FLOAT_EQ(buffer[0].item<float>(), 70.0F / 21);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(ModelAverageTest, WithoutRowsTheLastMeanStays) {
  RunRanks(2, [](std::unique_ptr<Communicator> ranks) {
    torch::Tensor weight = torch::full({4}, 3.0F);
    ModelAverage average({weight});
    weight.fill_(9);
    average.Add(0);
    bool stop = false;
    ASSERT_TRUE(average.Meet(*ranks, "the average", &stop).ok());
    EXPECT_EQ(weight[0].item<float>(), 3);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(ModelAverageTest, WhereOneRankStopsAllLearnItAndKeepTheLastMean) {
  RunRanks(3, [](std::unique_ptr<Communicator> ranks) {
    torch::Tensor weight = torch::full({4}, 3.0F);
    ModelAverage average({weight});
    weight.fill_(9);
    average.Add(1);
    bool stop = ranks->rank() == 2;
    ASSERT_TRUE(average.Meet(*ranks, "the average", &stop).ok());
    EXPECT_TRUE(stop);
    EXPECT_EQ(weight[0].item<float>(), 3);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(ModelAverageTest, ARankThatLeavesIsNamedWithThePurpose) {
  RunRanks(2, [](std::unique_ptr<Communicator> ranks) {
    if (ranks->rank() == 1) return ranks->Leave("its part cannot be opened");
    torch::Tensor weight = torch::ones({4});
    ModelAverage average({weight});
    average.Add(1);
    bool stop = false;
    const Status met = average.Meet(*ranks, "average after epoch 3", &stop);
    EXPECT_TRUE(absl::IsUnavailable(met)) << met;
    EXPECT_THAT(Message(met), testing::HasSubstr("average after epoch 3"));
    EXPECT_THAT(Message(met), testing::HasSubstr("its part cannot be opened"));
  });
}

}  // namespace
}  // namespace halograph

#include "trainer/distributed/buffer_average.h"

#include <memory>

#include <gtest/gtest.h>

#include "tests/support/ranks.h"
#include "trainer/torch/rows_seen.h"

namespace halograph {
namespace {

// Two columns of running figures.
class Follower : public torch::nn::Module {
 public:
  Follower()
      : mean(register_buffer("mean", torch::full({2}, 0.1F))),
        rows(register_buffer(kRowsSeen, torch::zeros({1}))) {}
  void See(float value, float count) {
    mean.fill_(value);
    rows += count;
  }
  torch::Tensor mean, rows;
};

// A module of each of two node types.
class TwoTypes : public torch::nn::Module {
 public:
  TwoTypes()
      : a(register_module("a", std::make_shared<Follower>())),
        b(register_module("b", std::make_shared<Follower>())) {}
  std::shared_ptr<Follower> a, b;
};

TEST(AverageBuffersTest, ARankCountsByTheRowsThatItHasSeen) {
  RunRanks(3, [](std::unique_ptr<Communicator> ranks) {
    const auto model = std::make_shared<TwoTypes>();
    const float values[] = {1, 5, 100}, rows[] = {30, 10, 0};
    if (ranks->rank() < 2) model->a->See(values[ranks->rank()], rows[ranks->rank()]);
    if (ranks->rank() == 1) model->b->See(7, 3);  // no other rank has rows of this type
    ASSERT_TRUE(AverageBuffers(*model, *ranks).ok());
    EXPECT_TRUE(torch::equal(model->a->mean, torch::full({2}, 2.0F))) << model->a->mean;
    EXPECT_TRUE(torch::equal(model->b->mean, torch::full({2}, 7.0F))) << model->b->mean;
    EXPECT_EQ(model->a->rows.item<float>(), 0);
    EXPECT_EQ(model->b->rows.item<float>(), 0);
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(AverageBuffersTest, RowsCountFromTheLastMeetingOn) {
  RunRanks(2, [](std::unique_ptr<Communicator> ranks) {
    const auto model = std::make_shared<Follower>();
    if (ranks->rank() == 0) model->See(3, 1000);
    ASSERT_TRUE(AverageBuffers(*model, *ranks).ok());
    EXPECT_TRUE(torch::equal(model->mean, torch::full({2}, 3.0F))) << model->mean;
    if (ranks->rank() == 1) model->See(8, 1);
    ASSERT_TRUE(AverageBuffers(*model, *ranks).ok());
    EXPECT_TRUE(torch::equal(model->mean, torch::full({2}, 8.0F))) << model->mean;
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(AverageBuffersTest, WithoutRowsEveryValueStays) {
  RunRanks(2, [](std::unique_ptr<Communicator> ranks) {
    const auto model = std::make_shared<Follower>();
    ASSERT_TRUE(AverageBuffers(*model, *ranks).ok());
    EXPECT_TRUE(torch::equal(model->mean, torch::full({2}, 0.1F)));
    ASSERT_TRUE(ranks->Barrier("end").ok());
  });
}

TEST(AverageBuffersTest, OneRankAloneKeepsEveryBit) {
  const auto alone = *Communicator::Join({});
  const auto model = std::make_shared<Follower>();
  model->See(0.1F, 7);
  ASSERT_TRUE(AverageBuffers(*model, *alone).ok());
  EXPECT_TRUE(torch::equal(model->mean, torch::full({2}, 0.1F)));
  EXPECT_EQ(model->rows.item<float>(), 0);
}

TEST(AverageBuffersTest, AModuleThatDoesNotCountRowsIsRefused) {
  const auto alone = *Communicator::Join({});
  torch::nn::BatchNorm1d norm(3);
  EXPECT_THROW((void)AverageBuffers(*norm, *alone), c10::Error);
}

}  // namespace
}  // namespace halograph

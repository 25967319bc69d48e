#include "trainer/kernels/mean_aggregate.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/random_block.h"

namespace halograph {
namespace {

// The same out of libtorch's own operations: a mean over rows picked one by one.
torch::Tensor NaiveMean(const torch::Tensor& h, const Block& block) {
  std::vector<torch::Tensor> rows;
  for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
    torch::Tensor sum = torch::zeros({h.size(1)});
    for (int64_t edge = block.indptr[i]; edge < block.indptr[i + 1]; ++edge) {
      sum = sum + h[block.indices[edge]];
    }
    const int64_t degree = block.indptr[i + 1] - block.indptr[i];
    rows.push_back(degree > 0 ? sum / degree : sum);
  }
  return torch::stack(rows);
}

struct Results {
  torch::Tensor out;
  torch::Tensor grad;
};

template <typename Aggregate>
Results Evaluate(const Aggregate& aggregate, const torch::Tensor& values, const Block& block) {
  torch::Tensor h = values.clone().requires_grad_(true);
  const torch::Tensor out = aggregate(h, block);
  const torch::Tensor weights = torch::arange(out.numel(), torch::kFloat32).view(out.sizes());
  (out * torch::sin(weights)).sum().backward();
  return {out.detach(), h.grad()};
}

TEST(MeanAggregateTest, EqualsTheNaiveCompositionForwardAndBackward) {
  torch::manual_seed(1);
  for (uint64_t key = 0; key < 20; ++key) {
    const Block block = RandomBlock(key, 7, 11);
    const torch::Tensor h = torch::randn({11, 5});
    const Results wanted = Evaluate(NaiveMean, h, block);
    const Results found = Evaluate(MeanAggregate, h, block);
    EXPECT_TRUE(torch::allclose(found.out, wanted.out, 1e-5, 1e-6));
    EXPECT_TRUE(torch::allclose(found.grad, wanted.grad, 1e-5, 1e-6));
  }
}

TEST(MeanAggregateTest, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(2);
  const Block block = RandomBlock(3, 4, 6);
  const torch::Tensor h = torch::randn({6, 3});
  const Results found = Evaluate(MeanAggregate, h, block);
  const auto loss = [&](const torch::Tensor& values) {
    const torch::Tensor out = MeanAggregate(values, block);
    const torch::Tensor weights = torch::arange(out.numel(), torch::kFloat32).view(out.sizes());
    return (out * torch::sin(weights)).sum().item<double>();
  };
  // The function is linear: a large step has no error but rounding.
  constexpr float kStep = 1.0F;
  for (int64_t i = 0; i < h.numel(); ++i) {
    torch::Tensor more = h.clone(), less = h.clone();
    more.view(-1)[i] += kStep;
    less.view(-1)[i] -= kStep;
    EXPECT_NEAR(found.grad.view(-1)[i].item<double>(), (loss(more) - loss(less)) / (2 * kStep),
                1e-4);
  }
}

TEST(MeanAggregateTest, ADestinationWithoutEdgesIsZeroAndGivesNoGradient) {
  const Block block{0, {0, 0, 1}, {1}};
  const Results found = Evaluate(MeanAggregate, torch::ones({3, 2}), block);
  EXPECT_TRUE(torch::equal(found.out, torch::tensor({{0.0F, 0.0F}, {1.0F, 1.0F}})));
  EXPECT_TRUE(torch::equal(found.grad[0], torch::zeros({2})));
  EXPECT_TRUE(torch::equal(found.grad[2], torch::zeros({2})));
}

TEST(MeanAggregateTest, NumberOfThreadsChangesNoBit) {
  torch::manual_seed(4);
  const Block block = RandomBlock(5, 700, 900);
  const torch::Tensor h = torch::randn({900, 33});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Results one = Evaluate(MeanAggregate, h, block);
  for (int threads : {2, 4}) {
    at::set_num_threads(threads);
    const Results more = Evaluate(MeanAggregate, h, block);
    EXPECT_TRUE(torch::equal(one.out, more.out));
    EXPECT_TRUE(torch::equal(one.grad, more.grad));
  }
  at::set_num_threads(before);
}

TEST(MeanAggregateTest, NoDestinationsGivesNoRows) {
  EXPECT_EQ(MeanAggregate(torch::ones({3, 2}), Block{0, {0}, {}}).size(0), 0);
}

}  // namespace
}  // namespace halograph

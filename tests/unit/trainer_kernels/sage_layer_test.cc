#include "trainer/kernels/sage_layer.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "tests/support/every_target.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"
#include "trainer/kernels/aggregate.h"

namespace halograph {
namespace {

using Layer = torch::Tensor (*)(const torch::Tensor&, const Block&, const SageWeights&,
                                const LayerOutput&);

SageWeights RandomWeights(int64_t in, int64_t out) {
  return {torch::randn({out, in}), torch::randn({out, in}), torch::randn({out})};
}

struct LayerResults {
  torch::Tensor out;
  std::vector<torch::Tensor> grads;  // of h, self, neighbor, bias
};

LayerResults RunLayer(Layer layer, const torch::Tensor& h, const Block& block,
                      const SageWeights& weights, const LayerOutput& output) {
  std::vector<torch::Tensor> leaves;
  for (const torch::Tensor& leaf : {h, weights.self, weights.neighbor, weights.bias}) {
    leaves.push_back(leaf.detach().clone().requires_grad_());
  }
  const torch::Tensor out = layer(leaves[0], block, {leaves[1], leaves[2], leaves[3]}, output);
  const torch::Tensor factors = torch::arange(out.numel(), torch::kFloat32).view(out.sizes());
  (out * torch::sin(factors)).sum().backward();
  LayerResults results{out.detach(), {}};
  for (const torch::Tensor& leaf : leaves) results.grads.push_back(leaf.grad());
  return results;
}

// The largest difference relative to the largest value.
double Difference(const torch::Tensor& found, const torch::Tensor& wanted) {
  if (wanted.numel() == 0) return 0;
  const auto scale = std::max(1e-6, wanted.abs().max().item<double>());
  return (found - wanted).abs().max().item<double>() / scale;
}

void ExpectAlike(const LayerResults& found, const LayerResults& wanted) {
  ASSERT_EQ(found.out.sizes(), wanted.out.sizes());
  EXPECT_LT(Difference(found.out, wanted.out), 5e-6);
  for (size_t i = 0; i < wanted.grads.size(); ++i) {
    ASSERT_TRUE(found.grads[i].defined()) << i;
    EXPECT_LT(Difference(found.grads[i], wanted.grads[i]), 5e-6) << i;
  }
}

class SageLayerTest : public EveryTargetTest {};

TEST_P(SageLayerTest, EqualsTheComposition) {
  torch::manual_seed(1);
  uint64_t key = 0;
  for (const int64_t in : {1, 3, 31, 33, 100, 128, 256}) {
    for (const int64_t out : {1, 47, 64}) {
      for (const LayerOutput& output :
           {LayerOutput{}, LayerOutput{.relu = true}, LayerOutput{true, Dropout::Of(0.5, 9, 1)}}) {
        const Block block = RandomBlock(++key, 23, 41);
        const torch::Tensor h = torch::randn({41, in});
        const SageWeights weights = RandomWeights(in, out);
        SCOPED_TRACE(testing::Message() << in << " to " << out << ", relu " << output.relu
                                        << ", dropout " << output.dropout.dropped);
        ExpectAlike(RunLayer(SageLayer, h, block, weights, output),
                    RunLayer(ComposedSageLayer, h, block, weights, output));
      }
    }
  }
}

TEST_P(SageLayerTest, CoefficientsAndDegreesCountAsInTheComposition) {
  torch::manual_seed(2);
  uint64_t key = 50;
  for (const int64_t in : {1, 33, 100}) {
    for (const Factors& factors : kAllFactors) {
      for (const LayerOutput& output : {LayerOutput{}, LayerOutput{true, Dropout::Of(0.5, 9, 1)}}) {
        SCOPED_TRACE(testing::Message() << in << ", relu " << output.relu << ", "
                                        << factors.coefficients << factors.degrees);
        const Block block = RandomBlock(++key, 23, 41, factors);
        const auto by = [&](Layer layer) {
          return [&, layer](const std::vector<torch::Tensor>& l) {
            return layer(l[0], block, {l[1], l[2], l[3]}, output);
          };
        };
        const std::vector<torch::Tensor> leaves = {torch::randn({41, in}), torch::randn({47, in}),
                                                   torch::randn({47, in}), torch::randn({47})};
        ExpectClose(Differentiate(by(SageLayer), leaves),
                    Differentiate(by(ComposedSageLayer), leaves));
      }
    }
  }
}

TEST_P(SageLayerTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(3);
  for (const int64_t width : {1, 3, 31, 33, 100}) {
    const Block block = RandomBlock(5, 6, 9, kAllFactors[width % 4]);
    const torch::Tensor h = torch::randn({9, width});
    const SageWeights weights = RandomWeights(width, 5);
    const LayerResults found = RunLayer(SageLayer, h, block, weights, {});
    // Without ReLU the layer is linear in h: a large step has no error but rounding.
    const auto loss = [&](const torch::Tensor& values) {
      const torch::Tensor out = SageLayer(values, block, weights, {});
      const torch::Tensor factors = torch::arange(out.numel(), torch::kFloat32).view(out.sizes());
      return (out * torch::sin(factors)).sum().item<double>();
    };
    for (int64_t i = 0; i < h.numel(); i += 7) {
      torch::Tensor more = h.clone(), less = h.clone();
      more.view(-1)[i] += 1;
      less.view(-1)[i] -= 1;
      EXPECT_NEAR(found.grads[0].view(-1)[i].item<double>(), (loss(more) - loss(less)) / 2, 2e-4);
    }
  }
}

TEST_P(SageLayerTest, NanAndInfinityGoWhereTheCompositionTakesThem) {
  torch::manual_seed(4);
  const Block block = RandomBlock(8, 12, 20);
  const SageWeights weights = RandomWeights(10, 33);
  const LayerOutput output = {true, Dropout::Of(0.5, 9, 1)};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const bool in_weights : {false, true}) {
      torch::Tensor h = torch::randn({20, 10});
      SageWeights by = {weights.self.clone(), weights.neighbor.clone(), weights.bias};
      (in_weights ? by.neighbor : h)[3][4] = bad;
      const LayerResults found = RunLayer(SageLayer, h, block, by, output);
      const LayerResults wanted = RunLayer(ComposedSageLayer, h, block, by, output);
      SCOPED_TRACE(testing::Message() << bad << (in_weights ? " in weights" : " in h"));
      EXPECT_TRUE(torch::equal(torch::isnan(found.out), torch::isnan(wanted.out)));
      EXPECT_TRUE(torch::equal(torch::isinf(found.out), torch::isinf(wanted.out)));
      for (size_t i = 0; i < wanted.grads.size(); ++i) {
        EXPECT_TRUE(torch::equal(torch::isnan(found.grads[i]), torch::isnan(wanted.grads[i]))) << i;
      }
    }
  }
}

HALOGRAPH_EVERY_TARGET(SageLayerTest);

TEST(SageLayerEdgesTest, BlocksWithoutEdgesDestinationsOrNeighbours) {
  torch::manual_seed(5);
  const LayerOutput output = {true, Dropout::Of(0.5, 1, 0)};
  const SageWeights weights = RandomWeights(7, 5);
  const torch::Tensor h = torch::randn({3, 7});
  for (const Block& block : {Block{0, {0, 0, 0}, {}}, Block{0, {0, 0, 1}, {2}}, Block{0, {0}, {}},
                             Block{0, {0, 1}, {0}}}) {
    ExpectAlike(RunLayer(SageLayer, h, block, weights, output),
                RunLayer(ComposedSageLayer, h, block, weights, output));
  }
}

TEST(SageLayerEdgesTest, AVeryWideRowIsTaken) {
  torch::manual_seed(6);
  const Block block = RandomBlock(2, 3, 4);
  const torch::Tensor h = torch::randn({4, 10000});
  const SageWeights weights = RandomWeights(10000, 2);
  ExpectAlike(RunLayer(SageLayer, h, block, weights, {.relu = true}),
              RunLayer(ComposedSageLayer, h, block, weights, {.relu = true}));
}

TEST(SageLayerEdgesTest, OnlyGradientsThatAreAskedForAreMade) {
  const Block block = RandomBlock(2, 3, 4);
  const torch::Tensor h = torch::randn({4, 6});
  SageWeights weights = RandomWeights(6, 2);
  EXPECT_FALSE(SageLayer(h, block, weights, {.relu = true}).requires_grad());
  weights.self.requires_grad_();
  SageLayer(h, block, weights, {.relu = true}).sum().backward();
  EXPECT_TRUE(weights.self.grad().defined());
  EXPECT_FALSE(h.grad().defined());
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(SageLayer(h, block, weights, {.relu = true}).requires_grad());
}

TEST(SageLayerEdgesTest, InputsOfAnotherKindAreRefused) {
  const Block block = RandomBlock(2, 3, 4);
  const SageWeights weights = RandomWeights(6, 2);
  EXPECT_THROW((void)SageLayer(torch::randn({4, 6}, torch::kFloat64), block, weights, {}),
               c10::Error);
  EXPECT_THROW((void)SageLayer(torch::randn({6, 4}).t(), block, weights, {}), c10::Error);
}

TEST(SageLayerEdgesTest, NumberOfThreadsChangesNoBit) {
  torch::manual_seed(7);
  const Block block = RandomBlock(5, 1700, 1900, {.coefficients = true, .degrees = true});
  const torch::Tensor h = torch::randn({1900, 100});
  const SageWeights weights = RandomWeights(100, 70);
  const int before = at::get_num_threads();
  for (const LayerOutput& output : {LayerOutput{}, LayerOutput{true, Dropout::Of(0.3, 1, 0)}}) {
    at::set_num_threads(1);
    const LayerResults one = RunLayer(SageLayer, h, block, weights, output);
    for (const int threads : {2, 3, 4, 16}) {
      at::set_num_threads(threads);
      const LayerResults more = RunLayer(SageLayer, h, block, weights, output);
      EXPECT_TRUE(torch::equal(one.out, more.out)) << threads;
      for (size_t i = 0; i < one.grads.size(); ++i) {
        EXPECT_TRUE(torch::equal(one.grads[i], more.grads[i])) << threads << ", " << i;
      }
    }
  }
  at::set_num_threads(before);
}

// Both parts wait for each other.
TEST(ParallelForTest, PartsRunAtTheSameTime) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::atomic<int> there{0};
  at::parallel_for(0, 2, 1, [&](int64_t begin, int64_t end) {
    there += static_cast<int>(end - begin);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (there < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(end - begin, 1) << "one thread took all";
  });
  at::set_num_threads(before);
  EXPECT_EQ(there, 2);
}

// [h_v, mean(h_u)], with room or without.
torch::Tensor SelfAndMeanOf(const torch::Tensor& h, const Block& block, bool room) {
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  torch::Tensor x = torch::cat({h.narrow(0, 0, rows), Aggregate(h, block, Aggregation::kMean)}, 1);
  return room ? RowsWithRoom(rows, x.size(1)).copy_(x) : x;
}

TEST(SageLayerOfRowsTest, IsTheLayerWithoutAGradientOfItsRows) {
  torch::manual_seed(8);
  const LayerOutput output = {true, Dropout::Of(0.5, 9, 1)};
  for (const int64_t in : {1, 33, 100, 128}) {
    const Block block = RandomBlock(6, 23, 41);
    const torch::Tensor h = torch::randn({41, in});
    const SageWeights weights = RandomWeights(in, 47);
    const LayerResults wanted = RunLayer(SageLayer, h, block, weights, output);
    for (const bool room : {false, true}) {
      const Layer layer =
          room ? [](const torch::Tensor& inputs, const Block& of, const SageWeights& by,
                    const LayerOutput&
                        how) { return SageLayerOfRows(SelfAndMeanOf(inputs, of, true), by, how); }
               : [](const torch::Tensor& inputs, const Block& of, const SageWeights& by,
                    const LayerOutput& how) {
                   return SageLayerOfRows(SelfAndMeanOf(inputs, of, false), by, how);
                 };
      const LayerResults found = RunLayer(layer, h, block, weights, output);
      EXPECT_TRUE(torch::equal(found.out, wanted.out));
      EXPECT_FALSE(found.grads[0].defined());
      for (size_t i = 1; i < wanted.grads.size(); ++i) {
        EXPECT_TRUE(torch::equal(found.grads[i], wanted.grads[i])) << i;
      }
    }
  }
}

TEST(SageLayerOfRowsTest, RowsOfAnotherKindAreRefused) {
  const SageWeights weights = RandomWeights(3, 2);
  EXPECT_THROW((void)SageLayerOfRows(torch::randn({4, 6}, torch::kFloat64), weights, {}),
               c10::Error);
  EXPECT_THROW((void)SageLayerOfRows(torch::randn({4, 5}), weights, {}), c10::Error);
}

}  // namespace
}  // namespace halograph

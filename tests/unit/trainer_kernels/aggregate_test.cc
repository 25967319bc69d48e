#include "trainer/kernels/aggregate.h"

#include <limits>

#include <gmock/gmock.h>

#include "tests/support/every_target.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"

namespace halograph {
namespace {

constexpr Aggregation kAllAggregations[] = {Aggregation::kSum, Aggregation::kMean,
                                            Aggregation::kMax};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Differentiable AggregateBy(const Block& block, Aggregation how,
                           const TransposedBlock* by_source = nullptr) {
  return [&block, how, by_source](const std::vector<torch::Tensor>& leaves) {
    return Aggregate(leaves[0], block, how, by_source);
  };
}

WithGradients Fused(const torch::Tensor& h, const Block& block, Aggregation how) {
  return Differentiate(AggregateBy(block, how), {h});
}
WithGradients Composed(const torch::Tensor& h, const Block& block, Aggregation how) {
  return Differentiate(
      [&](const std::vector<torch::Tensor>& leaves) {
        return ComposedAggregate(leaves[0], block, how);
      },
      {h});
}

class AggregateTest : public EveryTargetTest {};

TEST_P(AggregateTest, EqualsTheCompositionForwardAndBackward) {
  torch::manual_seed(1);
  uint64_t key = 0;
  for (const int64_t width : {1, 3, 16, 31, 33, 100, 256}) {
    for (const Aggregation how : kAllAggregations) {
      for (const Factors& factors : kAllFactors) {
        if (how == Aggregation::kMax && factors.coefficients) continue;
        SCOPED_TRACE(testing::Message() << width << ", " << static_cast<int>(how) << ", "
                                        << factors.coefficients << factors.degrees);
        const Block block = RandomBlock(++key, 23, 41, factors);
        const torch::Tensor h = torch::randn({41, width});
        ExpectClose(Fused(h, block, how), Composed(h, block, how));
      }
    }
  }
}

TEST_P(AggregateTest, CoefficientsMultiplyRowsAndDegreesDivideLast) {
  // Destination 0 lists 2, 1 and 2 again, 1 nothing, 2 source 0 once.
  Block block{0, {0, 3, 3, 4}, {2, 1, 2, 0}};
  for (const int64_t width : {1, 37}) {
    const torch::Tensor h =
        torch::tensor({10.0F, 1.0F, 3.0F}).unsqueeze(1).repeat({1, width}).contiguous();
    const auto means = [&] {
      const torch::Tensor out = Aggregate(h, block, Aggregation::kMean);
      EXPECT_TRUE(torch::equal(out, out.narrow(1, 0, 1).expand_as(out)));
      return std::vector<float>{out[0][0].item<float>(), out[1][0].item<float>(),
                                out[2][0].item<float>()};
    };
    block.degrees.clear();
    block.coefficients = {2, 0, 0.5, 4};
    EXPECT_EQ(means(), (std::vector<float>{2.5, 0, 40}));
    block.degrees = {2, 5, 8};
    EXPECT_EQ(means(), (std::vector<float>{3.75, 0, 5}));
    block.coefficients.clear();
    EXPECT_EQ(means(), (std::vector<float>{3.5, 0, 1.25}));
    block.degrees = {0, 0, 8};  // a node of degree 0 has no mean
    EXPECT_EQ(means(), (std::vector<float>{0, 0, 1.25}));
  }
}

TEST_P(AggregateTest, CoefficientsOfOneAndTheDegreesOfTheBlockChangeNoBit) {
  torch::manual_seed(10);
  const Block plain = RandomBlock(4, 23, 41);
  Block block = plain;
  block.coefficients.assign(block.indices.size(), 1);
  for (size_t v = 0; v < 23; ++v) {
    block.degrees.push_back(static_cast<float>(plain.indptr[v + 1] - plain.indptr[v]));
  }
  for (const int64_t width : {1, 33}) {
    const torch::Tensor h = torch::randn({41, width});
    const WithGradients found = Fused(h, block, Aggregation::kMean);
    const WithGradients wanted = Fused(h, plain, Aggregation::kMean);
    EXPECT_TRUE(torch::equal(found.out, wanted.out));
    EXPECT_TRUE(torch::equal(found.grads[0], wanted.grads[0]));
  }
}

TEST_P(AggregateTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(2);
  for (const int64_t width : {1, 3, 31, 33, 100}) {
    const torch::Tensor h = torch::randn({9, width});
    for (const Aggregation how : kAllAggregations) {
      SCOPED_TRACE(testing::Message() << width << ", " << static_cast<int>(how));
      const bool max = how == Aggregation::kMax;
      const Block block = RandomBlock(5, 6, 9, {.coefficients = !max, .degrees = width % 3 == 0});
      // The maximum is linear while no other row wins.
      const double step = how == Aggregation::kMax ? 1e-4 : 1.0;
      ExpectGradientsOfDifferences(AggregateBy(block, how), {h}, step, 5e-3);
    }
  }
}

TEST_P(AggregateTest, OfEqualRowsTheFirstListedGetsTheGradientOfTheMaximum) {
  // Destination 0 lists sources 2, 1, 2, all alike; destination 1 lists source 1 twice.
  const Block block{0, {0, 3, 5}, {2, 1, 2, 1, 1}};
  for (const int64_t width : {1, 33}) {
    const torch::Tensor h = torch::ones({4, width});
    const WithGradients found = Fused(h, block, Aggregation::kMax);
    ExpectClose(found, Composed(h, block, Aggregation::kMax));
    const torch::Tensor factors = torch::sin(torch::arange(2 * width, torch::kFloat64));
    const torch::Tensor by_row = factors.to(torch::kFloat32).view({2, width});
    EXPECT_TRUE(torch::allclose(found.grads[0][2], by_row[0]));
    EXPECT_TRUE(torch::allclose(found.grads[0][1], by_row[1]));
  }
}

TEST_P(AggregateTest, RandomTiesGoWhereTheCompositionTakesThem) {
  torch::manual_seed(3);
  for (uint64_t key = 0; key < 10; ++key) {
    const Block block = RandomBlock(key, 30, 12);
    const torch::Tensor h = torch::randint(-1, 2, {12, 37}).to(torch::kFloat32);
    ExpectClose(Fused(h, block, Aggregation::kMax), Composed(h, block, Aggregation::kMax));
  }
}

TEST_P(AggregateTest, NanAndInfinityGoWhereTheCompositionTakesThem) {
  torch::manual_seed(4);
  for (const Aggregation how : kAllAggregations) {
    for (uint64_t key = 0; key < 4; ++key) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(how) << ", " << key);
      const Block block = RandomBlock(key, 25, 20);
      torch::Tensor h = torch::randn({20, 35});
      h[3][4] = kNan;
      h[5][4] = kNan;
      h[3][34] = kInfinity;
      h[7] = -kInfinity;
      ExpectCloseWhereFinite(Fused(h, block, how), Composed(h, block, how));
    }
  }
}

TEST_P(AggregateTest, NanOfAGradientStaysWithItsWinner) {
  const Block block{0, {0, 2}, {0, 1}};
  torch::Tensor h = torch::tensor({{1.0F, 5.0F}, {2.0F, 4.0F}}).requires_grad_();
  Aggregate(h, block, Aggregation::kMax).backward(torch::tensor({{kNan, 3.0F}}));
  EXPECT_TRUE(torch::isnan(h.grad()[1][0]).item<bool>());
  EXPECT_EQ(h.grad()[0][0].item<float>(), 0);
  EXPECT_EQ(h.grad()[0][1].item<float>(), 3);
}

HALOGRAPH_EVERY_TARGET(AggregateTest);

TEST(AggregateEdgesTest, BlocksWithoutEdgesDestinationsOrNeighbours) {
  torch::manual_seed(5);
  const torch::Tensor h = torch::randn({3, 21});
  for (const Block& block : {Block{0, {0, 0, 0}, {}}, Block{0, {0, 0, 1}, {2}}, Block{0, {0}, {}},
                             Block{0, {0, 1}, {0}}}) {
    for (const Aggregation how : kAllAggregations) {
      const WithGradients found = Fused(h, block, how);
      ExpectClose(found, Composed(h, block, how));
      EXPECT_TRUE(torch::equal(found.grads[0][1], torch::zeros({21})));
    }
  }
}

TEST(AggregateEdgesTest, AVeryWideRowIsTaken) {
  torch::manual_seed(6);
  const Block block = RandomBlock(2, 3, 4);
  const torch::Tensor h = torch::randn({4, 10000});
  for (const Aggregation how : kAllAggregations) {
    ExpectClose(Fused(h, block, how), Composed(h, block, how));
  }
}

TEST(AggregateEdgesTest, NumberOfThreadsChangesNoBit) {
  torch::manual_seed(7);
  for (const Aggregation how : kAllAggregations) {
    const bool max = how == Aggregation::kMax;
    const Block block = RandomBlock(5, 700, 900, {.coefficients = !max, .degrees = !max});
    ExpectSameBitsOnAnyThreads(AggregateBy(block, how), {torch::randn({900, 33})});
  }
}

TEST(AggregateEdgesTest, ABlockBySourceThatIsGivenIsReadAndChangesNoBit) {
  torch::manual_seed(8);
  const Block block = RandomBlock(5, 20, 30);
  const torch::Tensor h = torch::randn({30, 9});
  TransposedBlock by_source = Transpose(block.indptr.data(), 20, block.indices.data(), 30);
  const auto given = [&](Aggregation how) {
    return Differentiate(AggregateBy(block, how, &by_source), {h}).grads[0];
  };
  for (const Aggregation how : kAllAggregations) {
    EXPECT_TRUE(torch::equal(given(how), Fused(h, block, how).grads[0]));
  }
  for (float& reciprocal : by_source.reciprocals) reciprocal *= 2;
  EXPECT_TRUE(
      torch::equal(given(Aggregation::kMean), 2 * Fused(h, block, Aggregation::kMean).grads[0]));
}

// One of another number of sources, destinations or edges: a minibatch's blocks mixed up.
TEST(AggregateEdgesTest, ABlockBySourceOfAnotherBlockIsRefused) {
  torch::manual_seed(9);
  const Block block = RandomBlock(5, 20, 30);
  const torch::Tensor h = torch::randn({30, 9});
  const auto edges = static_cast<int64_t>(block.indices.size());
  const TransposedBlock right = Transpose(block.indptr.data(), 20, block.indices.data(), 30);
  const auto refused = [&](const TransposedBlock& by_source) {
    const auto backward = [&] {
      (void)Differentiate(AggregateBy(block, Aggregation::kMean, &by_source), {h});
    };
    EXPECT_THROW(backward(), c10::Error);
  };
  refused(Transpose(block.indptr.data(), 20, block.indices.data(), 31));
  refused(Transpose(block.indptr.data(), 19, block.indices.data(), 30));
  refused({});
  TransposedBlock wrong = right;
  wrong.destinations.pop_back();
  refused(wrong);
  wrong = right;
  wrong.indptr.back() = edges + 1;
  refused(wrong);
  wrong = right;
  wrong.reciprocals.pop_back();
  refused(wrong);
  wrong = right;
  wrong.coefficients.assign(block.indices.size(), 1);
  refused(wrong);
}

TEST(AggregateEdgesTest, AMaximumRefusesCoefficientsAndSaysWhatToDo) {
  const Block block = RandomBlock(5, 20, 30, {.coefficients = true});
  try {
    (void)Aggregate(torch::randn({30, 4}), block, Aggregation::kMax);
    FAIL() << "taken";
  } catch (const c10::Error& error) {
    EXPECT_THAT(TorchMessage(error), testing::HasSubstr("coefficients of edges"));
    EXPECT_THAT(TorchMessage(error), testing::HasSubstr("--aggregator mean"));
  }
}

TEST(AggregateEdgesTest, ArraysThatAreNotAsLongAsTheBlockAreRefused) {
  const torch::Tensor h = torch::randn({30, 4});
  Block block = RandomBlock(5, 20, 30, {.coefficients = true, .degrees = true});
  block.coefficients.pop_back();
  EXPECT_THROW((void)Aggregate(h, block, Aggregation::kMean), c10::Error);
  block.coefficients.push_back(1);
  block.degrees.resize(19);
  EXPECT_THROW((void)Aggregate(h, block, Aggregation::kMean), c10::Error);
}

TEST(AggregateEdgesTest, TheCompositionTakesOtherTypes) {
  const Block block{0, {0, 2, 2}, {0, 1}};
  const torch::Tensor h = torch::tensor({{1.0, 5.0}, {2.0, 4.0}}, torch::kFloat64);
  EXPECT_TRUE(torch::equal(ComposedAggregate(h, block, Aggregation::kMax),
                           torch::tensor({{2.0, 5.0}, {0.0, 0.0}}, torch::kFloat64)));
  EXPECT_THROW((void)Aggregate(h, block, Aggregation::kMax), c10::Error);
}

TEST(AggregateEdgesTest, OnlyGradientsThatAreAskedForAreMade) {
  const Block block = RandomBlock(2, 3, 4);
  for (const Aggregation how : kAllAggregations) {
    EXPECT_FALSE(Aggregate(torch::randn({4, 6}), block, how).requires_grad());
  }
}

}  // namespace
}  // namespace halograph

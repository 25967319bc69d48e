#include "trainer/kernels/attention.h"

#include <limits>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "tests/support/every_target.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"

namespace halograph {
namespace {

using Leaves = std::vector<torch::Tensor>;  // projected, scores of sources, of destinations

struct AttendOptions {
  double slope = 0.2;
  Dropout dropout = {};
  const TransposedBlock* by_source = nullptr;
};

Differentiable AttendBy(const Block& block, const AttendOptions& options = {}) {
  return [&block, options](const Leaves& leaves) {
    return Attend({leaves[0], leaves[1], leaves[2], options.slope, options.dropout}, block,
                  options.by_source);
  };
}
Differentiable ComposedAttendBy(const Block& block, const AttendOptions& options = {}) {
  return [&block, options](const Leaves& leaves) {
    return ComposedAttend({leaves[0], leaves[1], leaves[2], options.slope, options.dropout}, block);
  };
}

Leaves RandomLeaves(int64_t destinations, int64_t sources, int64_t heads, int64_t width) {
  return {torch::randn({sources, heads * width}), torch::randn({sources, heads}),
          torch::randn({destinations, heads})};
}

void ExpectTheComposition(const Leaves& leaves, const Block& block,
                          const AttendOptions& options = {}) {
  ExpectClose(Differentiate(AttendBy(block, options), leaves),
              Differentiate(ComposedAttendBy(block, options), leaves));
}

class AttentionTest : public EveryTargetTest {};

TEST_P(AttentionTest, EqualsTheCompositionForwardAndBackward) {
  torch::manual_seed(1);
  uint64_t key = 0;
  for (const int64_t width : {1, 3, 8, 31, 33, 64, 100}) {
    for (const int64_t heads : {1, 3, 4, 8}) {
      SCOPED_TRACE(testing::Message() << heads << " heads of " << width);
      for (const bool coefficients : {false, true}) {
        const Block block = RandomBlock(++key, 23, 41, {.coefficients = coefficients});
        ExpectTheComposition(RandomLeaves(23, 41, heads, width), block);
      }
    }
  }
}

TEST_P(AttentionTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(2);
  for (const int64_t width : {1, 3, 31, 33, 100}) {
    for (const int64_t heads : {1, 3, 4, 8}) {
      SCOPED_TRACE(testing::Message() << heads << " heads of " << width);
      const Block block = RandomBlock(5, 6, 9, {.coefficients = heads > 3});
      Leaves leaves = RandomLeaves(6, 9, heads, width);
      // No score is near the kink of LeakyReLU.
      leaves[1] = torch::sign(leaves[1]) * (2 + torch::rand({9, heads}));
      leaves[2] = torch::rand({6, heads}) * 2 - 1;
      ExpectGradientsOfDifferences(AttendBy(block), leaves, 1e-2, 3e-3);
    }
  }
}

TEST_P(AttentionTest, LargeScoresNeitherOverflowNorVanish) {
  torch::manual_seed(3);
  const Block block = RandomBlock(7, 20, 30);
  Leaves leaves = RandomLeaves(20, 30, 4, 17);
  leaves[1] *= 1e4;
  const WithGradients found = Differentiate(AttendBy(block), leaves);
  EXPECT_TRUE(torch::isfinite(found.out).all().item<bool>());
  ExpectClose(found, Differentiate(ComposedAttendBy(block), leaves));
}

TEST_P(AttentionTest, NanAndInfinityGoWhereTheCompositionTakesThem) {
  torch::manual_seed(4);
  constexpr float kBad[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()};
  for (const float bad : kBad) {
    for (int leaf = 0; leaf < 3; ++leaf) {
      SCOPED_TRACE(testing::Message() << bad << " in leaf " << leaf);
      const Block block = RandomBlock(8, 12, 20);
      Leaves leaves = RandomLeaves(12, 20, 3, 18);
      leaves[leaf][3][2] = bad;
      leaves[leaf][5][0] = bad;
      ExpectCloseWhereFinite(Differentiate(AttendBy(block), leaves),
                             Differentiate(ComposedAttendBy(block), leaves));
    }
  }
}

TEST_P(AttentionTest, WeightsOfADestinationSumToOne) {
  torch::manual_seed(5);
  const Block block = RandomBlock(9, 15, 25);
  Leaves leaves = RandomLeaves(15, 25, 3, 5);
  leaves[0].fill_(1);
  const torch::Tensor out = AttendBy(block)(leaves);
  for (int64_t v = 0; v < 15; ++v) {
    const float wanted = block.indptr[v + 1] > block.indptr[v] ? 1.0F : 0.0F;
    EXPECT_TRUE(torch::allclose(out[v], torch::full({15}, wanted))) << v;
  }
}

TEST_P(AttentionTest, CoefficientsCountAsTheSameEdgeListedSoOften) {
  torch::manual_seed(13);
  // Destination 0 lists 1 twice and 2 never; of destination 1 nothing counts.
  const Block listed{0, {0, 3, 3, 4}, {0, 1, 1, 3}};
  Block weighed{0, {0, 3, 5, 6}, {0, 1, 2, 0, 4, 3}};
  weighed.coefficients = {1, 2, 0, 0, 0, 5};
  for (const int64_t heads : {1, 3, 8, 11}) {
    const Leaves leaves = RandomLeaves(3, 5, heads, 5);
    const WithGradients found = Differentiate(AttendBy(weighed), leaves);
    ExpectClose(found, Differentiate(AttendBy(listed), leaves));
    EXPECT_TRUE(torch::equal(found.out[1], torch::zeros({heads * 5})));
    EXPECT_TRUE(torch::equal(found.grads[0][4], torch::zeros({heads * 5})));
  }
}

TEST_P(AttentionTest, CoefficientsOfAnySizeNeitherOverflowNorVanish) {
  torch::manual_seed(14);
  for (const float scale : {1e-38F, 1e-20F, 1e20F, 1e38F}) {
    const Block block = RandomBlock(7, 20, 30, {.coefficients = true});
    Block scaled = block;
    for (float& value : scaled.coefficients) value *= scale;
    const Leaves leaves = RandomLeaves(20, 30, 4, 17);
    const WithGradients found = Differentiate(AttendBy(scaled), leaves);
    const WithGradients wanted = Differentiate(AttendBy(block), leaves);
    EXPECT_LT(RelativeDifference(found.out, wanted.out), 1e-4) << scale;
    EXPECT_LT(RelativeDifference(found.grads[1], wanted.grads[1]), 1e-4) << scale;
  }
}

TEST_P(AttentionTest, AnEdgeOfCoefficientZeroWeighsNothingWhateverItsScore) {
  torch::manual_seed(15);
  Block block{0, {0, 2}, {0, 1}};
  block.coefficients = {3, 0};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e38F}) {
    Leaves leaves = RandomLeaves(1, 2, 3, 4);
    leaves[1][1].fill_(bad);
    const WithGradients found = Differentiate(AttendBy(block), leaves);
    EXPECT_TRUE(torch::equal(found.out[0], leaves[0][0])) << bad;
    EXPECT_TRUE(torch::equal(found.grads[1][1], torch::zeros({3}))) << bad;
  }
}

TEST_P(AttentionTest, TheSlopeIsThatOfNegativeScores) {
  torch::manual_seed(6);
  const Block block = RandomBlock(10, 15, 25);
  for (const double slope : {0.0, 0.01, 0.7}) {
    ExpectTheComposition(RandomLeaves(15, 25, 2, 20), block, {.slope = slope});
  }
}

TEST_P(AttentionTest, WeightsAreLeftOutWhereTheCompositionLeavesThemOut) {
  torch::manual_seed(11);
  for (const int64_t heads : {1, 3, 4, 8, 11}) {
    for (const double p : {0.1, 0.5, 0.9}) {
      SCOPED_TRACE(testing::Message() << heads << " heads, " << p);
      const Block block = RandomBlock(static_cast<uint64_t>(heads), 23, 41);
      ExpectTheComposition(RandomLeaves(23, 41, heads, 5), block,
                           {.dropout = Dropout::Of(p, 3, 1)});
      const Block weighed = RandomBlock(3, 23, 41, {.coefficients = true});
      ExpectTheComposition(RandomLeaves(23, 41, heads, 5), weighed,
                           {.dropout = Dropout::Of(p, 3, 1)});
    }
  }
}

TEST_P(AttentionTest, NanOfAnEdgeThatIsLeftOutGoesWhereTheCompositionTakesIt) {
  torch::manual_seed(12);
  const Block block = RandomBlock(8, 12, 20);
  const AttendOptions options = {.dropout = Dropout::Of(0.5, 4, 2)};
  for (int leaf = 0; leaf < 3; ++leaf) {
    Leaves leaves = RandomLeaves(12, 20, 3, 18);
    leaves[leaf][3] = std::numeric_limits<float>::quiet_NaN();
    ExpectCloseWhereFinite(Differentiate(AttendBy(block, options), leaves),
                           Differentiate(ComposedAttendBy(block, options), leaves));
  }
}

HALOGRAPH_EVERY_TARGET(AttentionTest);

TEST(AttentionEdgesTest, DropoutLeavesOutTheShareAndKeepsTheMean) {
  // One edge a destination, whose weight is 1: what is left of it is seen.
  Block block;
  for (int32_t v = 0; v < 4000; ++v) block.indices.push_back(0);
  for (int64_t v = 0; v <= 4000; ++v) block.indptr.push_back(v);
  const Leaves leaves = {torch::ones({1, 4}), torch::zeros({1, 4}), torch::zeros({4000, 4})};
  const torch::Tensor out = AttendBy(block, {.dropout = Dropout::Of(0.25, 5, 0)})(leaves);
  EXPECT_NEAR((out == 0).to(torch::kFloat32).mean().item<double>(), 0.25, 0.02);
  EXPECT_NEAR(out.mean().item<double>(), 1, 0.03);
  const torch::Tensor other = AttendBy(block, {.dropout = Dropout::Of(0.25, 6, 0)})(leaves);
  EXPECT_FALSE(torch::equal(out, other));
}

TEST(AttentionEdgesTest, BlocksWithoutEdgesDestinationsOrNeighbours) {
  torch::manual_seed(7);
  for (const Block& block : {Block{0, {0, 0, 0}, {}}, Block{0, {0, 0, 1}, {2}}, Block{0, {0}, {}},
                             Block{0, {0, 1}, {0}}, Block{0, {0, 3}, {1, 1, 1}}}) {
    const auto destinations = static_cast<int64_t>(block.indptr.size()) - 1;
    const Leaves leaves = RandomLeaves(destinations, 3, 3, 7);
    ExpectTheComposition(leaves, block);
    if (block.indptr[0] != block.indptr.back()) continue;
    const WithGradients found = Differentiate(AttendBy(block), leaves);
    EXPECT_TRUE(torch::equal(found.out, torch::zeros_like(found.out)));
    for (const torch::Tensor& grad : found.grads) {
      EXPECT_TRUE(torch::equal(grad, torch::zeros_like(grad)));
    }
  }
}

TEST(AttentionEdgesTest, AVeryWideRowIsTaken) {
  torch::manual_seed(8);
  ExpectTheComposition(RandomLeaves(3, 4, 2, 10000), RandomBlock(2, 3, 4));
}

TEST(AttentionEdgesTest, NumberOfThreadsChangesNoBit) {
  torch::manual_seed(9);
  const Block block = RandomBlock(5, 700, 900, {.coefficients = true});
  const Leaves leaves = RandomLeaves(700, 900, 3, 33);
  ExpectSameBitsOnAnyThreads(AttendBy(block), leaves);
  ExpectSameBitsOnAnyThreads(AttendBy(block, {.dropout = Dropout::Of(0.5, 3, 1)}), leaves);
}

TEST(AttentionEdgesTest, ABlockBySourceThatIsGivenIsReadAndChangesNoBit) {
  torch::manual_seed(10);
  const Block block{0, {0, 2, 3}, {0, 1, 1}};
  const Leaves leaves = RandomLeaves(2, 2, 3, 5);
  TransposedBlock by_source = Transpose(block.indptr.data(), 2, block.indices.data(), 2);
  const torch::Tensor wanted = Differentiate(AttendBy(block), leaves).grads[0];
  const auto found = [&] {
    return Differentiate(AttendBy(block, {.by_source = &by_source}), leaves).grads[0];
  };
  EXPECT_TRUE(torch::equal(found(), wanted));
  std::swap(by_source.edges[1], by_source.edges[2]);  // source 1 takes each weight for the other
  EXPECT_FALSE(torch::equal(found(), wanted));
}

TEST(AttentionEdgesTest, ShapesAndTypesThatDoNotFitAreNamed) {
  const Block block = RandomBlock(2, 3, 4);
  const auto message = [&](const Leaves& leaves) -> std::string {
    try {
      (void)AttendBy(block)(leaves);
    } catch (const c10::Error& error) {
      return TorchMessage(error);
    }
    return "taken";
  };
  EXPECT_THAT(message({torch::ones({4, 7}), torch::ones({4, 2}), torch::ones({3, 2})}),
              testing::HasSubstr("7 projected columns are no multiple of 2 heads"));
  EXPECT_THAT(message({torch::ones({4, 6}), torch::ones({5, 2}), torch::ones({3, 2})}),
              testing::HasSubstr("scores of 5 sources for projected rows of 4"));
  EXPECT_THAT(message({torch::ones({4, 6}), torch::ones({4, 2}), torch::ones({4, 2})}),
              testing::HasSubstr("destination_scores"));
  EXPECT_THAT(
      message({torch::ones({4, 6}, torch::kFloat64), torch::ones({4, 2}), torch::ones({3, 2})}),
      testing::HasSubstr("float32"));
}

}  // namespace
}  // namespace halograph

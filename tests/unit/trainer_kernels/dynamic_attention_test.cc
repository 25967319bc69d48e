#include "trainer/kernels/dynamic_attention.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "tests/support/every_target.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"

namespace halograph {
namespace {

using DynamicLeaves = std::vector<torch::Tensor>;  // sources, destinations, vector

struct DynamicOptions {
  double slope = 0.2;
  Dropout dropout = {};
  const TransposedBlock* by_source = nullptr;
};

Differentiable DynamicBy(const Block& block, const DynamicOptions& options = {}) {
  return [&block, options](const DynamicLeaves& leaves) {
    return DynamicAttend({leaves[0], leaves[1], leaves[2], options.slope, options.dropout}, block,
                         options.by_source);
  };
}
Differentiable ComposedDynamicBy(const Block& block, const DynamicOptions& options = {}) {
  return [&block, options](const DynamicLeaves& leaves) {
    return ComposedDynamicAttend({leaves[0], leaves[1], leaves[2], options.slope, options.dropout},
                                 block);
  };
}

DynamicLeaves RandomDynamicLeaves(int64_t destinations, int64_t sources, int64_t heads,
                                  int64_t width) {
  return {torch::randn({sources, heads * width}), torch::randn({destinations, heads * width}),
          torch::randn({heads, width}) / std::sqrt(static_cast<double>(width))};
}

void ExpectTheDynamicComposition(const DynamicLeaves& leaves, const Block& block,
                                 const DynamicOptions& options = {}) {
  ExpectClose(Differentiate(DynamicBy(block, options), leaves),
              Differentiate(ComposedDynamicBy(block, options), leaves));
}

class DynamicAttentionTest : public EveryTargetTest {};

TEST_P(DynamicAttentionTest, EqualsTheCompositionForwardAndBackward) {
  torch::manual_seed(1);
  uint64_t key = 0;
  for (const int64_t width : {1, 3, 8, 31, 33, 64, 100}) {
    for (const int64_t heads : {1, 3, 4, 8}) {
      SCOPED_TRACE(testing::Message() << heads << " heads of " << width);
      for (const bool coefficients : {false, true}) {
        const Block block = RandomBlock(++key, 23, 41, {.coefficients = coefficients});
        ExpectTheDynamicComposition(RandomDynamicLeaves(23, 41, heads, width), block);
      }
    }
  }
}

TEST_P(DynamicAttentionTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(2);
  for (const int64_t width : {1, 3, 31, 33, 100}) {
    for (const int64_t heads : {1, 3, 4}) {
      SCOPED_TRACE(testing::Message() << heads << " heads of " << width);
      const Block block = RandomBlock(5, 6, 9);
      DynamicLeaves leaves = RandomDynamicLeaves(6, 9, heads, width);
      // No sum is near the kink of LeakyReLU.
      leaves[0] = torch::sign(leaves[0]) * (2 + torch::rand({9, heads * width}));
      leaves[1] = torch::rand({6, heads * width}) * 2 - 1;
      ExpectGradientsOfDifferences(DynamicBy(block), leaves, 2e-3, 3e-3);
    }
  }
}

TEST_P(DynamicAttentionTest, NanAndInfinityGoWhereTheCompositionTakesThem) {
  torch::manual_seed(3);
  constexpr float kBad[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()};
  for (const float bad : kBad) {
    for (int leaf = 0; leaf < 3; ++leaf) {
      SCOPED_TRACE(testing::Message() << bad << " in leaf " << leaf);
      const Block block = RandomBlock(8, 12, 20);
      DynamicLeaves leaves = RandomDynamicLeaves(12, 20, 3, 18);
      leaves[leaf][2][2] = bad;
      leaves[leaf][1][17] = bad;
      ExpectCloseWhereFinite(Differentiate(DynamicBy(block), leaves),
                             Differentiate(ComposedDynamicBy(block), leaves));
    }
  }
}

TEST_P(DynamicAttentionTest, TheSlopeAndWhatIsLeftOutAreTheCompositions) {
  torch::manual_seed(4);
  const Block block = RandomBlock(10, 15, 25);
  for (const double slope : {0.0, 0.01, 0.7}) {
    for (const double p : {0.0, 0.5}) {
      SCOPED_TRACE(testing::Message() << slope << ", " << p);
      ExpectTheDynamicComposition(RandomDynamicLeaves(15, 25, 3, 20), block,
                                  {.slope = slope, .dropout = Dropout::Of(p, 3, 1)});
    }
  }
}

HALOGRAPH_EVERY_TARGET(DynamicAttentionTest);

TEST(DynamicAttentionEdgesTest, BlocksWithoutEdgesDestinationsOrNeighbours) {
  torch::manual_seed(5);
  for (const Block& block : {Block{0, {0, 0, 0}, {}}, Block{0, {0, 0, 1}, {2}}, Block{0, {0}, {}},
                             Block{0, {0, 1}, {0}}, Block{0, {0, 3}, {1, 1, 1}}}) {
    const auto destinations = static_cast<int64_t>(block.indptr.size()) - 1;
    ExpectTheDynamicComposition(RandomDynamicLeaves(destinations, 3, 3, 7), block);
  }
}

TEST(DynamicAttentionEdgesTest, AVeryWideRowIsTaken) {
  torch::manual_seed(6);
  ExpectTheDynamicComposition(RandomDynamicLeaves(3, 4, 2, 10000), RandomBlock(2, 3, 4));
}

TEST(DynamicAttentionEdgesTest, NumberOfThreadsChangesNoBit) {
  torch::manual_seed(7);
  const Block block = RandomBlock(5, 700, 900, {.coefficients = true});
  ExpectSameBitsOnAnyThreads(DynamicBy(block, {.dropout = Dropout::Of(0.5, 3, 1)}),
                             RandomDynamicLeaves(700, 900, 3, 33));
}

TEST(DynamicAttentionEdgesTest, ABlockBySourceThatIsGivenIsReadAndChangesNoBit) {
  torch::manual_seed(8);
  const Block block{0, {0, 2, 3}, {0, 1, 1}};
  const DynamicLeaves leaves = RandomDynamicLeaves(2, 2, 3, 5);
  TransposedBlock by_source = Transpose(block.indptr.data(), 2, block.indices.data(), 2);
  const torch::Tensor wanted = Differentiate(DynamicBy(block), leaves).grads[0];
  const auto found = [&] {
    return Differentiate(DynamicBy(block, {.by_source = &by_source}), leaves).grads[0];
  };
  EXPECT_TRUE(torch::equal(found(), wanted));
  std::swap(by_source.edges[1], by_source.edges[2]);  // source 1 takes each weight for the other
  EXPECT_FALSE(torch::equal(found(), wanted));
}

TEST(DynamicAttentionEdgesTest, ShapesAndTypesThatDoNotFitAreNamed) {
  const Block block = RandomBlock(2, 3, 4);
  const auto message = [&](const DynamicLeaves& leaves) -> std::string {
    try {
      (void)DynamicBy(block)(leaves);
    } catch (const c10::Error& error) {
      return TorchMessage(error);
    }
    return "taken";
  };
  EXPECT_THAT(message({torch::ones({4, 7}), torch::ones({3, 7}), torch::ones({2, 3})}),
              testing::HasSubstr("7 columns of sources for a vector of [2, 3]"));
  EXPECT_THAT(message({torch::ones({4, 6}), torch::ones({4, 6}), torch::ones({2, 3})}),
              testing::HasSubstr("destinations are [4, 6], the block needs [3, 6]"));
  EXPECT_THAT(
      message({torch::ones({4, 6}), torch::ones({3, 6}, torch::kFloat64), torch::ones({2, 3})}),
      testing::HasSubstr("float32"));
}

}  // namespace
}  // namespace halograph

// What layers are composed of that have no Function of their own: LinearLayer, Drop, NormalizedSum
// and WithSelfLoops.
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/every_target.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"
#include "trainer/blocks/self_loops.h"
#include "trainer/kernels/attention.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/dynamic_attention.h"
#include "trainer/kernels/linear_layer.h"
#include "trainer/kernels/normalized_sum.h"

namespace halograph {
namespace {

using testing::ElementsAre;

class LayerPartsTest : public EveryTargetTest {};

// x, weight and bias.
Differentiable LinearBy(const LayerOutput& output) {
  return [output](const std::vector<torch::Tensor>& leaves) {
    return LinearLayer(leaves[0], leaves[1], leaves[2], output);
  };
}
Differentiable ComposedLinearBy(const LayerOutput& output) {
  return [output](const std::vector<torch::Tensor>& leaves) {
    torch::Tensor z = torch::linear(leaves[0], leaves[1], leaves[2]);
    if (!output.relu) return z;
    z = torch::relu(z) * output.dropout.scale();
    return torch::where(KeptPlaces(output.dropout, z.size(0), z.size(1)), z,
                        torch::zeros({}, torch::kFloat32));
  };
}

TEST_P(LayerPartsTest, LinearLayerEqualsTheCompositionForwardAndBackward) {
  torch::manual_seed(1);
  for (const int64_t in : {1, 16, 33}) {
    const std::vector<torch::Tensor> values = {torch::randn({205, in}), torch::randn({7, in}),
                                               torch::randn({7})};
    for (const LayerOutput& output :
         {LayerOutput{}, LayerOutput{.relu = true, .dropout = {}},
          LayerOutput{.relu = true, .dropout = Dropout::Of(0.4, 3, 1)}}) {
      SCOPED_TRACE(testing::Message() << in << ", " << output.relu);
      ExpectClose(Differentiate(LinearBy(output), values),
                  Differentiate(ComposedLinearBy(output), values));
    }
  }
}

TEST_P(LayerPartsTest, LinearLayerTakesRowsApartAndNoBias) {
  torch::manual_seed(2);
  const torch::Tensor wide = torch::randn({20, 40}), weight = torch::randn({5, 13});
  const torch::Tensor x = wide.narrow(1, 3, 13);
  const torch::Tensor found = LinearLayer(x, weight, torch::Tensor());
  EXPECT_TRUE(torch::allclose(found, torch::linear(x, weight), 1e-4, 1e-5));
}

TEST_P(LayerPartsTest, LinearLayerOfBf16RoundsItsRowsWhereverTheyComeFrom) {
  torch::manual_seed(3);
  const torch::Tensor x = torch::randn({50, 13}), weight = torch::randn({8, 13});
  const torch::Tensor narrow = x.to(torch::kBFloat16);
  const auto run = [&](const torch::Tensor& rows) {
    return LinearLayer(rows, weight, torch::Tensor(), {}, Precision::kBf16);
  };
  EXPECT_TRUE(torch::equal(run(x), run(narrow)));
  EXPECT_TRUE(torch::equal(run(x), run(narrow.to(torch::kFloat32))));
  EXPECT_FALSE(torch::equal(run(x), LinearLayer(x, weight, torch::Tensor())));
  EXPECT_TRUE(torch::allclose(run(x), torch::linear(x, weight), 0.05, 0.05));
  const LayerOutput narrow_output = {.precision = Precision::kBf16};
  EXPECT_TRUE(torch::equal(LinearLayer(x, weight, torch::Tensor(), narrow_output, Precision::kBf16),
                           run(x).to(torch::kBFloat16)));
}

TEST_P(LayerPartsTest, LinearLayerRefusesWhatItCannotRead) {
  const torch::Tensor weight = torch::randn({8, 4});
  EXPECT_THROW((void)LinearLayer(torch::randn({4}), weight, torch::Tensor()), c10::Error);
  EXPECT_THROW((void)LinearLayer(torch::randn({4, 5}), weight, torch::Tensor()), c10::Error);
  const torch::Tensor learnt = torch::randn({4, 4}).to(torch::kBFloat16).requires_grad_();
  EXPECT_THROW((void)LinearLayer(learnt, weight, torch::Tensor()), c10::Error);
}

TEST_P(LayerPartsTest, DropLeavesOutTheDrawnPlacesBothWays) {
  torch::manual_seed(4);
  for (const int64_t cols : {1, 6, 33}) {
    const torch::Tensor x = torch::randn({70, cols});
    const Dropout dropout = Dropout::Of(0.3, 9, 2);
    const torch::Tensor kept = KeptPlaces(dropout, 70, cols).to(torch::kFloat32) * dropout.scale();
    ExpectClose(Differentiate([&](const auto& leaves) { return Drop(leaves[0], dropout); }, {x}),
                Differentiate([&](const auto& leaves) { return leaves[0] * kept; }, {x}));
  }
  const torch::Tensor x = torch::randn({3, 3});
  EXPECT_TRUE(Drop(x, Dropout::Of(0.5, {}, 0)).is_same(x));
}

Differentiable Normalized(const Block& block, const DegreeScales& scales,
                          const TransposedBlock* by_source = nullptr) {
  return [=, &block](const std::vector<torch::Tensor>& leaves) {
    return NormalizedSum(leaves[0], block, scales, by_source);
  };
}

TEST_P(LayerPartsTest, NormalizedSumEqualsTheCompositionForwardAndBackward) {
  torch::manual_seed(5);
  uint64_t key = 0;
  for (const int64_t width : {1, 3, 16, 33, 100}) {
    SCOPED_TRACE(width);
    for (const Factors& factors : kAllFactors) {
      const Block block = RandomBlock(++key, 23, 41, factors);
      const DegreeScales scales = ScalesByDegree(block, nullptr, 41);
      const torch::Tensor h = torch::randn({41, width});
      const WithGradients wanted = Differentiate(
          [&](const auto& leaves) { return ComposedNormalizedSum(leaves[0], block, scales); }, {h});
      ExpectClose(Differentiate(Normalized(block, scales), {h}), wanted);
      const TransposedBlock by_source = Transpose(block, 41);
      ExpectClose(Differentiate(Normalized(block, scales, &by_source), {h}), wanted);
    }
  }
}

TEST_P(LayerPartsTest, NormalizedSumOfBfloat16RoundsNothingButTheGradient) {
  torch::manual_seed(9);
  for (const int64_t width : {1, 3, 16, 33, 100, 300}) {
    SCOPED_TRACE(width);
    for (const Factors& factors : kAllFactors) {
      const Block block = RandomBlock(6, 230, 410, factors);
      const TransposedBlock by_source = Transpose(block, 410);
      const DegreeScales scales = ScalesByDegree(block, nullptr, 410);
      const Differentiable sum = Normalized(block, scales, &by_source);
      const torch::Tensor narrow = torch::randn({410, width}).to(torch::kBFloat16);
      const WithGradients found = Differentiate(sum, {narrow});
      const WithGradients wanted = Differentiate(sum, {narrow.to(torch::kFloat32)});
      EXPECT_TRUE(torch::equal(found.out, wanted.out));
      EXPECT_EQ(found.grads[0].scalar_type(), torch::kBFloat16);
      EXPECT_TRUE(torch::equal(found.grads[0], wanted.grads[0].to(torch::kBFloat16)));
    }
  }
}

TEST_P(LayerPartsTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(6);
  const Block block = RandomBlock(5, 6, 9, {.coefficients = true});
  const DegreeScales scales = ScalesByDegree(block, nullptr, 9);
  ExpectGradientsOfDifferences(Normalized(block, scales), {torch::randn({9, 17})}, 1.0, 5e-3);
  ExpectGradientsOfDifferences(
      LinearBy({}), {torch::randn({9, 5}), torch::randn({3, 5}), torch::randn({3})}, 1.0, 5e-3);
}

TEST_P(LayerPartsTest, TheNumberOfThreadsChangesNoBit) {
  torch::manual_seed(7);
  const Block block = RandomBlock(8, 500, 900, {.coefficients = true, .degrees = true});
  const DegreeScales scales = ScalesByDegree(block, nullptr, 900);
  ExpectSameBitsOnAnyThreads(Normalized(block, scales), {torch::randn({900, 24})});
  ExpectSameBitsOnAnyThreads(LinearBy({.relu = true, .dropout = Dropout::Of(0.4, 3, 1)}),
                             {torch::randn({900, 24}), torch::randn({32, 24}), torch::randn({32})});
}

HALOGRAPH_EVERY_TARGET(LayerPartsTest);

// 1 / sqrt(degree + 1).
torch::Tensor OfDegrees(const std::vector<float>& degrees) {
  return torch::rsqrt(torch::tensor(degrees) + 1);
}

// Seeds 0 and 1; 0 lists 1, 2 and 2 again, 1 lists 3. In the outer block 0 has three edges, 1 none,
// 2 one and 3 two; it meets 4.
const Block kInner{0, {0, 3, 4}, {1, 2, 2, 3}};
const Block kOuter{0, {0, 3, 3, 4, 6}, {1, 2, 4, 0, 4, 4}};

TEST(ScalesByDegreeTest, SourcesHaveTheDegreesOfTheBlockThatTheyAreDestinationsOf) {
  const DegreeScales scales = ScalesByDegree(kInner, &kOuter, 4);
  EXPECT_TRUE(torch::allclose(scales.sources, OfDegrees({3, 0, 1, 2})));
  EXPECT_TRUE(torch::allclose(scales.destinations, OfDegrees({3, 1})));
}

TEST(ScalesByDegreeTest, InTheOutermostBlockTheOthersCountAsOftenAsTheyAreListed) {
  const DegreeScales scales = ScalesByDegree(kOuter, nullptr, 5);
  EXPECT_TRUE(torch::allclose(scales.sources, OfDegrees({3, 0, 1, 2, 3})));
  EXPECT_TRUE(torch::allclose(scales.destinations, OfDegrees({3, 0, 1, 2})));
}

TEST(ScalesByDegreeTest, DegreesThatTheBlockGivesAreTakenOfAllNodes) {
  Block inner = kInner;
  inner.degrees = {7, 0, 2.5, 9};
  const DegreeScales scales = ScalesByDegree(inner, &kOuter, 4);
  EXPECT_TRUE(torch::allclose(scales.sources, OfDegrees({7, 0, 2.5, 9})));
  EXPECT_TRUE(torch::allclose(scales.destinations, OfDegrees({7, 0})));
  EXPECT_TRUE(torch::equal(scales.sources, ScalesByDegree(inner, nullptr, 4).sources));
  inner.degrees.pop_back();
  EXPECT_THROW((void)ScalesByDegree(inner, nullptr, 4), c10::Error);
}

TEST(ScalesByDegreeTest, WithCoefficientsDegreesAreTheirSums) {
  Block inner = kInner, outer = kOuter;
  inner.coefficients = {0.5, 0, 2, 3};
  outer.coefficients = {1, 2, 3, 0, 0.25, 0.5};
  const DegreeScales scales = ScalesByDegree(inner, &outer, 4);
  EXPECT_TRUE(torch::allclose(scales.sources, OfDegrees({6, 0, 0, 0.75})));
  EXPECT_TRUE(torch::allclose(scales.destinations, OfDegrees({2.5, 3})));
  const DegreeScales outermost = ScalesByDegree(outer, nullptr, 5);
  EXPECT_TRUE(torch::allclose(outermost.sources, OfDegrees({6, 0, 0, 0.75, 3.75})));
}

TEST(WithSelfLoopsTest, ALoopHasCoefficientOneAndCountsOneInDegrees) {
  const Block loops = WithSelfLoops({.relation = 0,
                                     .indptr = {0, 3, 3, 4},
                                     .indices = {1, 2, 2, 3},
                                     .coefficients = {5, 6, 7, 0},
                                     .degrees = {3, 0, 8, 9}});
  EXPECT_THAT(loops.coefficients, ElementsAre(1, 5, 6, 7, 1, 1, 0));
  EXPECT_THAT(loops.degrees, ElementsAre(4, 1, 9, 10));
}

TEST(WithSelfLoopsTest, EachDestinationListsItselfFirst) {
  const Block loops = WithSelfLoops({0, {0, 3, 3, 4}, {1, 2, 2, 3}});
  EXPECT_THAT(loops.indptr, ElementsAre(0, 4, 5, 7));
  EXPECT_THAT(loops.indices, ElementsAre(0, 1, 2, 2, 1, 2, 3));
}

TEST(OwnTensorsOfTest, AttentionKeepsTheBlockUntilBackwardIsDone) {
  torch::manual_seed(8);
  const Block block = RandomBlock(3, 6, 9, {.coefficients = true});
  Block looped{0, {0}, {}};
  for (int64_t v = 0; v < 6; ++v) {
    looped.indices.push_back(static_cast<int32_t>(v));
    looped.coefficients.push_back(1);
    for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
      looped.indices.push_back(block.indices[e]);
      looped.coefficients.push_back(block.coefficients[e]);
    }
    looped.indptr.push_back(static_cast<int64_t>(looped.indices.size()));
  }
  const std::vector<torch::Tensor> values = {torch::randn({9, 8}), torch::randn({9, 2}),
                                             torch::randn({6, 2})};
  ExpectClose(Differentiate(
                  [&](const auto& leaves) {
                    return Attend(AttentionInput{leaves[0], leaves[1], leaves[2]},
                                  OwnTensorsOf(WithSelfLoops(block)));
                  },
                  values),
              Differentiate(
                  [&](const auto& leaves) {
                    return ComposedAttend(AttentionInput{leaves[0], leaves[1], leaves[2]}, looped);
                  },
                  values));
  const std::vector<torch::Tensor> dynamic = {torch::randn({9, 8}), torch::randn({6, 8}),
                                              torch::randn({2, 4})};
  ExpectClose(Differentiate(
                  [&](const auto& leaves) {
                    return DynamicAttend(DynamicAttentionInput{leaves[0], leaves[1], leaves[2]},
                                         OwnTensorsOf(WithSelfLoops(block)));
                  },
                  dynamic),
              Differentiate(
                  [&](const auto& leaves) {
                    return ComposedDynamicAttend(
                        DynamicAttentionInput{leaves[0], leaves[1], leaves[2]}, looped);
                  },
                  dynamic));
}

}  // namespace
}  // namespace halograph

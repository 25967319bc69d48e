#include "trainer/kernels/grouped_layer.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/every_target.h"
#include "tests/support/product_kernel_cases.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/composed_grouped_layer.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"

namespace halograph {
namespace {

// A layer whose relations have sources from rows 0, 3, 0, 3, ... of the inputs on, of three keys in
// four some of them with coefficients, or degrees, and matrices of numbers that do not ascend.
// There is one matrix more than relations.
struct GroupedCase {
  std::vector<Block> blocks;
  RelationGroups groups;
  std::vector<int64_t> matrix_of;
  LayerNodes nodes;

  GroupedCase(std::vector<Block> of_relations, int64_t first, int64_t count)
      : blocks(std::move(of_relations)), nodes{first, count} {
    std::vector<RelationEdges> edges;
    for (const Block& block : blocks) {
      edges.push_back({&block, static_cast<int64_t>(edges.size() % 2) * 3});
      matrix_of.push_back(static_cast<int64_t>(blocks.size() - edges.size() + 1));
    }
    groups = GroupWithinRelations(edges).value();
  }
  static GroupedCase Random(uint64_t key, int64_t relations, int64_t nodes, int64_t sources) {
    std::vector<Block> blocks;
    for (int64_t r = 0; r < relations; ++r) {
      const Factors& factors = key % 4 == 0 ? kAllFactors[0] : kAllFactors[(key + r) % 4];
      blocks.push_back(
          RandomBlock(key * 100 + static_cast<uint64_t>(r), nodes, sources - 3, factors));
    }
    return {std::move(blocks), 5, nodes};
  }

  // Inputs and weights, for matrices of `diagonal` blocks.
  [[nodiscard]] std::vector<torch::Tensor> Leaves(int64_t sources, int64_t in, int64_t out,
                                                  int64_t diagonal = 1) const {
    return {torch::randn({sources, in}),
            torch::randn(
                {static_cast<int64_t>(blocks.size()) + 1, diagonal, out / diagonal, in / diagonal}),
            torch::randn({out, in}), torch::randn({out})};
  }
  [[nodiscard]] Differentiable Fused(const LayerOutput& output = {},
                                     Precision precision = Precision::kFloat32,
                                     const TransposedBlock* by_source = nullptr) const {
    return [this, output, precision, by_source](const std::vector<torch::Tensor>& l) {
      return GroupedLayer(l[0], groups, matrix_of, {l[1], l[2], l[3]}, nodes, output, precision,
                          by_source);
    };
  }
  [[nodiscard]] Differentiable Composed(const LayerOutput& output = {},
                                        Precision precision = Precision::kFloat32) const {
    return [this, output, precision](const std::vector<torch::Tensor>& l) {
      return ComposedGroupedLayer(l[0], groups, matrix_of, {l[1], l[2], l[3]}, nodes, output,
                                  precision);
    };
  }
};

LayerOutput ReluAndDropout() { return {.relu = true, .dropout = Dropout::Of(0.5, 3, 1)}; }

class GroupedLayerTest : public EveryTargetTest {};

TEST_P(GroupedLayerTest, EqualsTheCompositionForwardAndBackward) {
  torch::manual_seed(1);
  uint64_t key = 0;
  for (const auto& [in, out] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 17}, {31, 33}, {100, 47}, {64, 256}}) {
    for (const LayerOutput& output : {LayerOutput{}, LayerOutput{.relu = true}, ReluAndDropout()}) {
      SCOPED_TRACE(testing::Message() << in << " to " << out << ", relu " << output.relu);
      const GroupedCase layer = GroupedCase::Random(++key, 5, 21, 37);
      const auto leaves = layer.Leaves(37, in, out);
      ExpectClose(Differentiate(layer.Fused(output), leaves),
                  Differentiate(layer.Composed(output), leaves));
    }
  }
}

TEST_P(GroupedLayerTest, BlocksOnTheDiagonalEqualTheComposition) {
  torch::manual_seed(2);
  uint64_t key = 20;
  for (const int64_t diagonal : {2, 3, 5}) {
    for (const int64_t block : {1, 7, 8, 19}) {
      SCOPED_TRACE(testing::Message() << diagonal << " blocks of " << block);
      const GroupedCase layer = GroupedCase::Random(++key, 3, 240, 260);
      const auto leaves = layer.Leaves(260, diagonal * block, diagonal * (block + 1), diagonal);
      ExpectClose(Differentiate(layer.Fused(ReluAndDropout()), leaves),
                  Differentiate(layer.Composed(ReluAndDropout()), leaves));
    }
  }
}

TEST_P(GroupedLayerTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(3);
  for (const int64_t width : {1, 3, 31, 33, 100}) {
    SCOPED_TRACE(width);
    const GroupedCase layer = GroupedCase::Random(30, 4, 6, 11);
    ExpectGradientsOfDifferences(layer.Fused(), layer.Leaves(11, width, 9), 1.0, 1e-3);
  }
}

TEST_P(GroupedLayerTest, NanAndInfinityGoWhereTheCompositionTakesThemBehindMasksToo) {
  torch::manual_seed(4);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (size_t leaf = 0; leaf < 4; ++leaf) {
      for (const LayerOutput& output : {LayerOutput{}, ReluAndDropout()}) {
        SCOPED_TRACE(testing::Message() << bad << " in leaf " << leaf << ", relu " << output.relu);
        const GroupedCase layer = GroupedCase::Random(40 + leaf, 4, 40, 60);
        auto leaves = layer.Leaves(60, 19, 70);
        leaves[leaf].view(-1)[leaves[leaf].numel() / 2] = bad;
        ExpectCloseWhereFinite(Differentiate(layer.Fused(output), leaves),
                               Differentiate(layer.Composed(output), leaves));
      }
    }
  }
}

// With products of float32 nothing else is.
TEST_P(GroupedLayerTest, RowsAreRoundedWhereThePrecisionIsBf16) {
  const KernelInUse in_use(KernelHere("float32"));
  torch::manual_seed(5);
  for (const int64_t diagonal : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << diagonal << " blocks");
    const GroupedCase layer = GroupedCase::Random(50, 3, 30, 50);
    const auto leaves = layer.Leaves(50, 33 * diagonal, 20 * diagonal, diagonal);
    const WithGradients rounded = Differentiate(layer.Fused({}, Precision::kBf16), leaves);
    ExpectClose(rounded, Differentiate(layer.Composed({}, Precision::kBf16), leaves));
    EXPECT_GT(RelativeDifference(rounded.out, layer.Fused()(leaves)), 1e-4);
  }
}

TEST_P(GroupedLayerTest, Bf16IsNearTheCompositionByEachKernel) {
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    torch::manual_seed(12);
    uint64_t key = 100;
    for (const int64_t diagonal : {1, 2, 5}) {
      for (const int64_t block : {1, 8, 33}) {
        SCOPED_TRACE(testing::Message() << kernel->name << ", " << diagonal << " of " << block);
        const GroupedCase layer = GroupedCase::Random(++key, 3, 23, 41);
        const auto leaves = layer.Leaves(41, diagonal * block, diagonal * (block + 2), diagonal);
        const WithGradients found = Differentiate(layer.Fused({}, Precision::kBf16), leaves);
        const WithGradients wanted = Differentiate(layer.Composed(), leaves);
        EXPECT_LT(RelativeDifference(found.out, wanted.out), kBf16Error);
        for (size_t i = 0; i < leaves.size(); ++i) {
          EXPECT_LT(RelativeDifference(found.grads[i], wanted.grads[i]), kBf16Error) << i;
        }
      }
    }
  }
}

HALOGRAPH_EVERY_TARGET(GroupedLayerTest);

TEST(GroupedEdgesTest, RelationsWithoutEdgesAndNodesWithoutNeighbours) {
  torch::manual_seed(6);
  const Block none{0, {0, 0, 0}, {}}, some{0, {0, 0, 1}, {2}}, all{0, {0, 2, 5}, {0, 1, 2, 2, 1}};
  for (const std::vector<Block>& blocks : std::vector<std::vector<Block>>{
           {none, none}, {none, some, none}, {some}, {all}, {all, none, some}}) {
    SCOPED_TRACE(testing::Message() << blocks.size() << " relations");
    const GroupedCase layer(blocks, 3, 2);
    const auto leaves = layer.Leaves(6, 9, 5);
    const WithGradients found = Differentiate(layer.Fused(ReluAndDropout()), leaves);
    const WithGradients wanted = Differentiate(layer.Composed(ReluAndDropout()), leaves);
    EXPECT_LT(RelativeDifference(found.out, wanted.out), 5e-6);
    for (size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_EQ(found.grads[i].defined(), wanted.grads[i].defined()) << i;
      if (!found.grads[i].defined()) continue;
      EXPECT_LT(RelativeDifference(found.grads[i], wanted.grads[i]), 5e-6) << i;
    }
  }
}

TEST(GroupedEdgesTest, NoRelationAndNoNode) {
  torch::manual_seed(7);
  const GroupedCase alone({}, 1, 3);
  const auto leaves = alone.Leaves(6, 9, 5);
  EXPECT_LT(RelativeDifference(alone.Fused()(leaves), alone.Composed()(leaves)), 5e-6);
  const GroupedCase empty({{0, {0}, {}}}, 1, 0);
  const WithGradients found = Differentiate(empty.Fused(ReluAndDropout()), empty.Leaves(6, 9, 5));
  EXPECT_EQ(found.out.sizes(), (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(found.grads[0].abs().sum().item<float>(), 0);
  EXPECT_EQ(found.grads[2].abs().sum().item<float>(), 0);
}

TEST(GroupedEdgesTest, MatricesWithoutARelationGetZeros) {
  torch::manual_seed(8);
  const GroupedCase layer = GroupedCase::Random(60, 3, 20, 30);
  const WithGradients found = Differentiate(layer.Fused(), layer.Leaves(30, 9, 5));
  EXPECT_EQ(found.grads[1][0].abs().sum().item<float>(), 0);  // there are four matrices
  for (const int64_t matrix : {1, 2, 3}) {
    EXPECT_GT(found.grads[1][matrix].abs().sum().item<float>(), 0) << matrix;
  }
}

// So many nodes that sums are made of chunks, on any number of threads of the same.
TEST(GroupedEdgesTest, NumberOfThreadsChangesNoBitAndManyRowsEqualTheComposition) {
  torch::manual_seed(9);
  const GroupedCase layer = GroupedCase::Random(70, 4, 2000, 2500);
  for (const int64_t diagonal : {1, 4}) {
    const auto leaves = layer.Leaves(2500, 36, 20, diagonal);
    ExpectSameBitsOnAnyThreads(layer.Fused(ReluAndDropout()), leaves);
    ExpectSameBitsOnAnyThreads(layer.Fused(), leaves);
    ExpectClose(Differentiate(layer.Fused(ReluAndDropout()), leaves),
                Differentiate(layer.Composed(ReluAndDropout()), leaves));
  }
}

TEST(GroupedEdgesTest, NumberOfThreadsChangesNoBitOfBf16ByAnyKernel) {
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    SCOPED_TRACE(kernel->name);
    torch::manual_seed(13);
    const GroupedCase layer = GroupedCase::Random(110, 2, 1060, 1100);
    for (const int64_t diagonal : {1, 3}) {
      ExpectSameBitsOnAnyThreads(layer.Fused(ReluAndDropout(), Precision::kBf16),
                                 layer.Leaves(1100, 21, 9, diagonal));
    }
  }
}

// Of so many groups that a relation's are several pieces and chunks.
TEST(GroupedEdgesTest, ProductsOfPairsHaveTheBitsOfTheirOracle) {
  for (const KernelCase& tested : KernelCases()) {
    if (tested.kernel == nullptr) continue;
    torch::manual_seed(14);
    const GroupedCase layer = GroupedCase::Random(120, 2, 1060, 1100);
    for (const auto& [in, out, diagonal] :
         std::vector<std::array<int64_t, 3>>{{17, 20, 1}, {12, 8, 4}, {15, 9, 3}}) {
      SCOPED_TRACE(testing::Message() << tested.name << ", " << diagonal << " blocks");
      const auto leaves = layer.Leaves(1100, in, out, diagonal);
      const auto run = [&](const ProductKernel* kernel) {
        const KernelInUse in_use(kernel);
        return Differentiate(layer.Fused(ReluAndDropout(), Precision::kBf16), leaves);
      };
      const WithGradients found = run(tested.kernel), wanted = run(tested.each_value);
      EXPECT_TRUE(torch::equal(found.out, wanted.out));
      for (size_t i = 0; i < leaves.size(); ++i) {
        EXPECT_TRUE(torch::equal(found.grads[i], wanted.grads[i])) << i;
      }
      EXPECT_FALSE(torch::equal(found.out, run(KernelHere("float32")).out)) << "none was made";
    }
  }
}

TEST(GroupedEdgesTest, ThatNoInputNeedsAGradientChangesNoBitOfTheOthers) {
  torch::manual_seed(10);
  const GroupedCase layer = GroupedCase::Random(80, 3, 50, 60);
  const auto leaves = layer.Leaves(60, 20, 12);
  const WithGradients all = Differentiate(layer.Fused(ReluAndDropout()), leaves);
  const torch::Tensor h = leaves[0];
  const WithGradients some = Differentiate(
      [&](const std::vector<torch::Tensor>& l) {
        return layer.Fused(ReluAndDropout())({h, l[0], l[1], l[2]});
      },
      {leaves[1], leaves[2], leaves[3]});
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(torch::equal(some.grads[i], all.grads[i + 1])) << i;
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(layer.Fused(ReluAndDropout())(leaves), all.out));
}

TEST(GroupedEdgesTest, GroupsBySourceThatAreGivenAreReadAndChangeNoBit) {
  torch::manual_seed(11);
  const GroupedCase layer = GroupedCase::Random(90, 3, 20, 30);
  const auto leaves = layer.Leaves(30, 9, 11);
  TransposedBlock by_source = Transpose(layer.groups.edges, 30);
  const auto gradient = [&](const TransposedBlock* given) {
    return Differentiate(layer.Fused({}, Precision::kFloat32, given), leaves).grads[0];
  };
  const torch::Tensor wanted = gradient(nullptr);
  EXPECT_TRUE(torch::equal(gradient(&by_source), wanted));
  for (float& reciprocal : by_source.reciprocals) reciprocal *= 2;
  EXPECT_FALSE(torch::equal(gradient(&by_source), wanted));
}

TEST(GroupedEdgesTest, WhatDoesNotFitIsNamed) {
  const GroupedCase layer = GroupedCase::Random(95, 3, 8, 14);
  const auto message = [&](const std::vector<torch::Tensor>& l, const std::vector<int64_t>& of,
                           const LayerNodes& nodes) -> std::string {
    try {
      (void)GroupedLayer(l[0], layer.groups, of, {l[1], l[2], l[3]}, nodes, {});
    } catch (const c10::Error& error) {
      return TorchMessage(error);
    }
    return "taken";
  };
  const auto leaves = layer.Leaves(14, 6, 4);
  const auto other = layer.Leaves(14, 7, 4);
  EXPECT_EQ(message(leaves, {1, 2, 3}, layer.nodes), "taken");
  EXPECT_THAT(message({leaves[0], other[1], leaves[2], leaves[3]}, {1, 2, 3}, layer.nodes),
              testing::HasSubstr("do not fit 6 columns of inputs"));
  EXPECT_THAT(message(leaves, {1, 2}, layer.nodes),
              testing::HasSubstr("2 relations have a matrix, the groups are of 3"));
  EXPECT_THAT(message(leaves, {1, 2, 4}, layer.nodes),
              testing::HasSubstr("there is no matrix 4 of 4"));
  EXPECT_THAT(message(leaves, {1, 2, 3}, {7, 8}), testing::HasSubstr("rows 7 to 15 of 14 inputs"));
  EXPECT_THAT(message(leaves, {1, 2, 3}, {5, 2}), testing::HasSubstr("a group is of node "));
}

}  // namespace
}  // namespace halograph

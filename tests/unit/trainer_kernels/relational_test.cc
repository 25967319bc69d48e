#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/every_target.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"
#include "trainer/kernels/basis_layer.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/finish_rows.h"
#include "trainer/kernels/relational_aggregate.h"

namespace halograph {
namespace {

using RelationalFunctionType = torch::Tensor (*)(const torch::Tensor&, const RelationalBlock&,
                                                 const torch::Tensor&, std::optional<int64_t>);

torch::Tensor FusedRelational(const torch::Tensor& h, const RelationalBlock& block,
                              const torch::Tensor& coefficients,
                              std::optional<int64_t> first_self) {
  return RelationalAggregate(h, block, coefficients, first_self);
}

Differentiable RelationalBy(RelationalFunctionType function, const RelationalBlock& block,
                            std::optional<int64_t> first_self = {}) {
  return [function, &block, first_self](const std::vector<torch::Tensor>& leaves) {
    return function(leaves[0], block, leaves[1], first_self);
  };
}

// Relations whose sources begin at rows 0, 3, 0, 3, ... of the inputs. Of three keys in four some
// of them have coefficients, or degrees, and others not.
RelationalBlock RandomRelations(uint64_t key, int64_t relations, int64_t destinations,
                                int64_t sources) {
  std::vector<Block> blocks;
  for (int64_t r = 0; r < relations; ++r) {
    const Factors& factors = key % 4 == 0 ? kAllFactors[0] : kAllFactors[(key + r) % 4];
    blocks.push_back(
        RandomBlock(key * 100 + static_cast<uint64_t>(r), destinations, sources - 3, factors));
  }
  std::vector<RelationEdges> edges;
  for (const Block& block : blocks) {
    edges.push_back({&block, static_cast<int64_t>(edges.size() % 2) * 3});
  }
  return GroupByRelation(edges).value();
}

void ExpectTheRelationalComposition(const std::vector<torch::Tensor>& leaves,
                                    const RelationalBlock& block,
                                    std::optional<int64_t> first_self) {
  ExpectClose(Differentiate(RelationalBy(FusedRelational, block, first_self), leaves),
              Differentiate(RelationalBy(ComposedRelationalAggregate, block, first_self), leaves));
}

TEST(RelationalBlockTest, GroupsByDestinationAndRelationInOrder) {
  const Block first{0, {0, 2, 2}, {4, 1}};
  const Block second{1, {0, 1, 3}, {0, 2, 2}};
  const RelationalBlock block =
      GroupByRelation(std::vector<RelationEdges>{{&first, 0}, {&second, 10}}).value();
  EXPECT_EQ(block.num_relations, 2);
  EXPECT_EQ(block.groups, (std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(block.relations, (std::vector<int32_t>{0, 1, 1}));
  EXPECT_EQ(block.indptr, (std::vector<int64_t>{0, 2, 3, 5}));
  EXPECT_EQ(block.sources, (std::vector<int32_t>{4, 1, 10, 12, 12}));
}

TEST(RelationalBlockTest, GroupsCarryCoefficientsAndDegreesWhereOneRelationHasThem) {
  const Block first{0, {0, 2, 2}, {4, 1}};
  Block second{1, {0, 1, 3}, {0, 2, 2}};
  Block third{2, {0, 1, 1}, {5}};
  second.coefficients = {0.5, 0, 7};
  third.degrees = {9, 8, 7};  // of sources too
  const std::vector<RelationEdges> edges = {{&first, 0}, {&second, 10}, {&third, 0}};
  const RelationalBlock block = GroupByRelation(edges).value();
  EXPECT_EQ(block.relations, (std::vector<int32_t>{0, 1, 2, 1}));
  EXPECT_EQ(block.coefficients, (std::vector<float>{1, 1, 0.5, 1, 0, 7}));
  EXPECT_EQ(block.degrees, (std::vector<float>{2, 1, 9, 2}));
  const RelationGroups groups = GroupWithinRelations(edges).value();
  EXPECT_EQ(groups.edges.coefficients, (std::vector<float>{1, 1, 0.5, 0, 7, 1}));
  EXPECT_EQ(groups.edges.degrees, (std::vector<float>{2, 1, 2, 9}));
  const TransposedBlock by_source = GroupsBySource(block, 13);
  EXPECT_EQ(by_source.coefficients, (std::vector<float>{1, 1, 1, 0.5, 0, 7}));
  const RelationalBlock plain = GroupByRelation(std::span(edges).first(1)).value();
  EXPECT_TRUE(plain.coefficients.empty() && plain.degrees.empty());
}

TEST(RelationalBlockTest, BlocksOfDifferentDestinationsAreRefused) {
  const Block two{0, {0, 0, 0}, {}};
  const Block one{0, {0, 1}, {7}};
  const auto refused = GroupByRelation(std::vector<RelationEdges>{{&two, 0}, {&one, 0}});
  EXPECT_THAT(Message(refused.status()), testing::HasSubstr("relation 1 has 1 destinations"));
  const auto none = GroupByRelation({});
  EXPECT_THAT(Message(none.status()), testing::HasSubstr("no relation"));
  const auto large =
      GroupByRelation(std::vector<RelationEdges>{{&one, std::numeric_limits<int32_t>::max() - 6}});
  EXPECT_THAT(Message(large.status()), testing::HasSubstr("row 2147483648"));
}

TEST(RelationGroupsTest, GroupsOfEachRelationStandTogether) {
  const Block first{0, {0, 2, 2}, {4, 1}};
  const Block second{1, {0, 1, 3}, {0, 2, 2}};
  const Block none{2, {0, 0, 0}, {}};
  const RelationGroups groups =
      GroupWithinRelations(std::vector<RelationEdges>{{&first, 0}, {&none, 5}, {&second, 10}})
          .value();
  EXPECT_EQ(groups.relations, (std::vector<int64_t>{0, 1, 1, 3}));
  EXPECT_EQ(groups.destinations, (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ(groups.edges.indptr, (std::vector<int64_t>{0, 2, 3, 5}));
  EXPECT_EQ(groups.edges.indices, (std::vector<int32_t>{4, 1, 10, 12, 12}));
  EXPECT_TRUE(GroupWithinRelations({}).value().destinations.empty());
  const Block one{0, {0, 1}, {7}};
  EXPECT_THAT(
      Message(GroupWithinRelations(std::vector<RelationEdges>{{&first, 0}, {&one, 0}}).status()),
      testing::HasSubstr("relation 1 has 1 destinations"));
}

class FinishRowsTest : public EveryTargetTest {};

TEST_P(FinishRowsTest, IsBiasReluAndDropoutForwardAndBackward) {
  torch::manual_seed(5);
  const Dropout dropout = Dropout::Of(0.3, 11, 1);
  for (const int64_t cols : {1, 33, 100}) {
    const std::vector<torch::Tensor> leaves = {torch::randn({70, cols}), torch::randn({cols})};
    const auto finish = [&](const std::vector<torch::Tensor>& l) {
      return FinishRows(l[0], l[1], {.relu = true, .dropout = dropout});
    };
    const auto composed = [&](const std::vector<torch::Tensor>& l) {
      const torch::Tensor kept = KeptPlaces(dropout, 70, cols);
      return torch::where(kept, torch::relu(l[0] + l[1]) * dropout.scale(), torch::zeros({}));
    };
    ExpectClose(Differentiate(finish, leaves), Differentiate(composed, leaves));
    ExpectSameBitsOnAnyThreads(finish, leaves);
    const torch::Tensor plain = FinishRows(leaves[0], leaves[1], {});
    EXPECT_TRUE(torch::equal(plain, leaves[0] + leaves[1]));
  }
}

HALOGRAPH_EVERY_TARGET(FinishRowsTest);

class RelationalTest : public EveryTargetTest {};

TEST_P(RelationalTest, EqualsTheCompositionForwardAndBackward) {
  torch::manual_seed(1);
  uint64_t key = 0;
  for (const int64_t width : {1, 3, 31, 33, 100, 256}) {
    for (const int64_t bases : {1, 3, 4}) {
      for (const std::optional<int64_t> first_self : {std::optional<int64_t>(), {0}, {5}}) {
        SCOPED_TRACE(testing::Message() << bases << " bases of " << width);
        const RelationalBlock block = RandomRelations(++key, 5, 21, 37);
        ExpectTheRelationalComposition({torch::randn({37, width}), torch::randn({5, bases})}, block,
                                       first_self);
      }
    }
  }
}

TEST_P(RelationalTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(2);
  for (const int64_t width : {1, 3, 31, 33, 100}) {
    SCOPED_TRACE(width);
    const RelationalBlock block = RandomRelations(3, 4, 6, 11);
    ExpectGradientsOfDifferences(RelationalBy(FusedRelational, block, 2),
                                 {torch::randn({11, width}), torch::randn({4, 3})}, 1.0, 1e-3);
  }
}

TEST_P(RelationalTest, NanAndInfinityGoWhereTheCompositionTakesThem) {
  torch::manual_seed(3);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (int leaf = 0; leaf < 2; ++leaf) {
      SCOPED_TRACE(testing::Message() << bad << " in leaf " << leaf);
      const RelationalBlock block = RandomRelations(4, 4, 9, 14);
      std::vector<torch::Tensor> leaves = {torch::randn({14, 19}), torch::randn({4, 3})};
      leaves[leaf][3][2] = bad;
      ExpectCloseWhereFinite(
          Differentiate(RelationalBy(FusedRelational, block, 1), leaves),
          Differentiate(RelationalBy(ComposedRelationalAggregate, block, 1), leaves));
    }
  }
}

TEST_P(RelationalTest, TheLayerEqualsItsComposition) {
  torch::manual_seed(7);
  for (const int64_t width : {1, 31, 100}) {
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(testing::Message() << width << ", relu " << relu);
      const RelationalBlock block = RandomRelations(9, 5, 21, 37);
      const std::vector<torch::Tensor> leaves = {torch::randn({37, width}), torch::randn({5, 3}),
                                                 torch::randn({3, 17, width}),
                                                 torch::randn({17, width}), torch::randn({17})};
      const auto fused = [&](const std::vector<torch::Tensor>& l) {
        return RelationalLayer(l[0], block, {l[1], l[2], l[3], l[4]}, 5, {.relu = relu});
      };
      const auto composed = [&](const std::vector<torch::Tensor>& l) {
        const torch::Tensor z = ComposedRelationalLayer(l[0], block, {l[1], l[2], l[3], l[4]}, 5);
        return relu ? torch::relu(z) : z;
      };
      ExpectClose(Differentiate(fused, leaves), Differentiate(composed, leaves));
    }
  }
}

HALOGRAPH_EVERY_TARGET(RelationalTest);

TEST(RelationalEdgesTest, BlocksWithoutEdgesDestinationsOrNeighbours) {
  torch::manual_seed(4);
  const std::vector<torch::Tensor> leaves = {torch::randn({4, 9}), torch::randn({2, 3})};
  const Block without_edges{0, {0, 0, 0}, {}}, some{0, {0, 0, 1}, {2}};
  const Block without_destinations{0, {0}, {}}, one{0, {0, 2}, {1, 1}}, none{0, {0, 0}, {}};
  for (const auto& [a, b] : std::vector<std::pair<const Block*, const Block*>>{
           {&without_edges, &without_edges},
           {&without_edges, &some},
           {&without_destinations, &without_destinations},
           {&one, &none}}) {
    const RelationalBlock block =
        GroupByRelation(std::vector<RelationEdges>{{a, 0}, {b, 1}}).value();
    ExpectTheRelationalComposition(leaves, block, {});
    ExpectTheRelationalComposition(leaves, block, 1);
  }
}

TEST(RelationalEdgesTest, NumberOfThreadsChangesNoBit) {
  torch::manual_seed(5);
  const RelationalBlock block = RandomRelations(6, 5, 500, 700);
  ExpectSameBitsOnAnyThreads(RelationalBy(FusedRelational, block, 7),
                             {torch::randn({700, 33}), torch::randn({5, 4})});
}

TEST(RelationalEdgesTest, GroupsBySourceThatAreGivenAreReadAndChangeNoBit) {
  torch::manual_seed(9);
  const RelationalBlock block = RandomRelations(6, 3, 20, 30);
  const torch::Tensor coefficients = torch::randn({3, 2}), self = torch::randn({11, 9});
  const torch::Tensor bases = torch::randn({2, 11, 9}), bias = torch::randn({11});
  const torch::Tensor h = torch::randn({30, 9});
  TransposedBlock by_source = GroupsBySource(block, 30);
  const auto aggregate = [&](const TransposedBlock* given) {
    return Differentiate(
        [&](const auto& l) { return RelationalAggregate(l[0], block, coefficients, {}, given); },
        {h});
  };
  const auto layer = [&](const TransposedBlock* given) {
    return Differentiate(
        [&](const auto& l) {
          return RelationalLayer(l[0], block, {coefficients, bases, self, bias}, 0, {}, given);
        },
        {h});
  };
  EXPECT_TRUE(torch::equal(aggregate(&by_source).grads[0], aggregate(nullptr).grads[0]));
  EXPECT_TRUE(torch::equal(layer(&by_source).grads[0], layer(nullptr).grads[0]));
  for (float& reciprocal : by_source.reciprocals) reciprocal *= 2;
  EXPECT_TRUE(torch::equal(aggregate(&by_source).grads[0], 2 * aggregate(nullptr).grads[0]));
  EXPECT_FALSE(torch::equal(layer(&by_source).grads[0], layer(nullptr).grads[0]));
}

TEST(RelationalEdgesTest, OnlyTheCoefficientsNeedAGradientInAFirstLayer) {
  torch::manual_seed(6);
  const RelationalBlock block = RandomRelations(7, 3, 8, 12);
  const torch::Tensor h = torch::randn({12, 20});
  const auto gradient = [&](RelationalFunctionType function) {
    torch::Tensor coefficients = torch::ones({3, 2}).requires_grad_();
    WeighedLoss(function(h, block, coefficients, 0)).backward();
    return coefficients.grad();
  };
  EXPECT_LT(RelativeDifference(gradient(FusedRelational), gradient(ComposedRelationalAggregate)),
            5e-6);
}

TEST(RelationalEdgesTest, NumberOfThreadsChangesNoBitOfTheLayer) {
  torch::manual_seed(8);
  const RelationalBlock block = RandomRelations(6, 5, 500, 700);
  const auto layer = [&](const std::vector<torch::Tensor>& l) {
    return RelationalLayer(l[0], block, {l[1], l[2], l[3], l[4]}, 7,
                           {true, Dropout::Of(0.5, 3, 1)});
  };
  ExpectSameBitsOnAnyThreads(
      layer, {torch::randn({700, 33}), torch::randn({5, 4}), torch::randn({4, 20, 33}),
              torch::randn({20, 33}), torch::randn({20})});
}

TEST(RelationalEdgesTest, WeightsThatDoNotFitAreNamed) {
  const RelationalBlock block = RandomRelations(8, 3, 8, 12);
  EXPECT_THROW((void)RelationalLayer(torch::ones({12, 5}), block,
                                     {torch::ones({3, 4}), torch::ones({3, 7, 5}),
                                      torch::ones({7, 5}), torch::ones({7})},
                                     0, {}),
               c10::Error);
}

TEST(RelationalEdgesTest, ShapesThatDoNotFitAreNamed) {
  const RelationalBlock block = RandomRelations(8, 3, 8, 12);
  const auto message = [&](const torch::Tensor& h, const torch::Tensor& coefficients,
                           std::optional<int64_t> first_self) -> std::string {
    try {
      (void)RelationalAggregate(h, block, coefficients, first_self);
    } catch (const c10::Error& error) {
      return TorchMessage(error);
    }
    return "taken";
  };
  const torch::Tensor h = torch::ones({12, 5});
  EXPECT_THAT(message(h, torch::ones({2, 4}), {}),
              testing::HasSubstr("coefficients are [2, 4], the block needs [3, bases]"));
  EXPECT_THAT(message(h, torch::ones({3, 4}), 5), testing::HasSubstr("rows 5 to 13 of 12 inputs"));
  EXPECT_THAT(message(h.to(torch::kFloat64), torch::ones({3, 4}), {}),
              testing::HasSubstr("float32"));
}

// Of the block of one relation layer: row [V_0[u], ..., s_u] of each node u, node by node.
torch::Tensor PlainBasisLayer(const torch::Tensor& rows, const RelationalBlock& block,
                              const BasisWeights& weights, int64_t first_self) {
  const int64_t cols = rows.size(1) / (weights.bases + 1);
  const torch::Tensor parts = rows.view({rows.size(0), weights.bases + 1, cols});
  std::vector<torch::Tensor> out;
  for (size_t v = 0; v + 1 < block.groups.size(); ++v) {
    torch::Tensor z = parts[first_self + static_cast<int64_t>(v)][weights.bases];
    for (int64_t group = block.groups[v]; group < block.groups[v + 1]; ++group) {
      torch::Tensor mean = torch::zeros({weights.bases + 1, cols}, rows.options());
      for (int64_t e = block.indptr[group]; e < block.indptr[group + 1]; ++e) {
        mean = mean + parts[block.sources[e]] *
                          (block.coefficients.empty() ? 1.0F : block.coefficients[e]);
      }
      const auto edges = static_cast<float>(block.indptr[group + 1] - block.indptr[group]);
      const float degree = block.degrees.empty() ? edges : block.degrees[group];
      mean = degree > 0 ? mean / degree : mean * 0;
      const int64_t relation = block.relations[group];
      if (!weights.coefficients.defined()) {
        z = z + mean[weights.basis_of[relation]];
        continue;
      }
      z = z + weights.coefficients[relation].matmul(mean.narrow(0, 0, weights.bases));
    }
    out.push_back(z);
  }
  return torch::stack(out);
}

class BasisLayerTest : public EveryTargetTest {};

TEST_P(BasisLayerTest, EqualsTheFormulaForwardAndBackward) {
  torch::manual_seed(1);
  uint64_t key = 20;
  for (const int64_t cols : {1, 3, 10, 16, 33}) {
    for (const int64_t bases : {1, 3, 6}) {
      SCOPED_TRACE(testing::Message() << bases << " bases of " << cols);
      const RelationalBlock block = RandomRelations(++key, 5, 21, 37);
      const std::vector<torch::Tensor> leaves = {torch::randn({37, (bases + 1) * cols}),
                                                 torch::randn({5, bases})};
      ExpectClose(Differentiate(
                      [&](const auto& l) {
                        return BasisLayer(l[0], block, {bases, l[1], {}}, 5);
                      },
                      leaves),
                  Differentiate(
                      [&](const auto& l) {
                        return PlainBasisLayer(l[0], block, {bases, l[1], {}}, 5);
                      },
                      leaves));
      const BasisWeights one_each = {bases, {}, {bases - 1, 0, 0, bases / 2, 0}};
      ExpectClose(
          Differentiate([&](const auto& l) { return BasisLayer(l[0], block, one_each, 0); },
                        {leaves[0]}),
          Differentiate([&](const auto& l) { return PlainBasisLayer(l[0], block, one_each, 0); },
                        {leaves[0]}));
    }
  }
}

TEST_P(BasisLayerTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(2);
  const RelationalBlock block = RandomRelations(3, 4, 6, 11);
  ExpectGradientsOfDifferences(
      [&](const auto& l) {
        return BasisLayer(l[0], block, {3, l[1], {}}, 2);
      },
      {torch::randn({11, 28}), torch::randn({4, 3})}, 1.0, 1e-3);
}

HALOGRAPH_EVERY_TARGET(BasisLayerTest);

TEST(BasisEdgesTest, NumberOfThreadsAndGroupsThatAreGivenChangeNoBit) {
  torch::manual_seed(5);
  const RelationalBlock block = RandomRelations(6, 5, 500, 700);
  const TransposedBlock by_source = GroupsBySource(block, 700);
  const std::vector<torch::Tensor> leaves = {torch::randn({700, 40}), torch::randn({5, 3})};
  const auto layer = [&](const TransposedBlock* given) -> Differentiable {
    return [&block, given](const auto& l) {
      return BasisLayer(l[0], block, {3, l[1], {}}, 7, given);
    };
  };
  ExpectSameBitsOnAnyThreads(layer(nullptr), leaves);
  const WithGradients given = Differentiate(layer(&by_source), leaves);
  const WithGradients made = Differentiate(layer(nullptr), leaves);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(torch::equal(given.grads[i], made.grads[i])) << i;
}

TEST(BasisEdgesTest, ShapesThatDoNotFitAreNamed) {
  const RelationalBlock block = RandomRelations(8, 3, 8, 12);
  const auto message = [&](const torch::Tensor& rows, const BasisWeights& weights) -> std::string {
    try {
      (void)BasisLayer(rows, block, weights, 5);
    } catch (const c10::Error& error) {
      return TorchMessage(error);
    }
    return "taken";
  };
  const torch::Tensor rows = torch::ones({13, 12});
  EXPECT_THAT(
      message(torch::ones({13, 11}), {2, {}, {0, 1, 0}}),
      testing::HasSubstr("rows of 11 columns are not those of 2 bases and the node itself"));
  EXPECT_THAT(message(rows, {2, torch::ones({3, 3}), {}}),
              testing::HasSubstr("the block needs [3, 2]"));
  EXPECT_THAT(message(rows, {2, {}, {0, 1}}), testing::HasSubstr("2 relations have a basis"));
  EXPECT_THAT(message(torch::ones({12, 12}), {2, {}, {0, 1, 0}}),
              testing::HasSubstr("rows 5 to 13 of 12"));
  EXPECT_EQ(message(rows, {2, {}, {0, 1, 0}}), "taken");
}

}  // namespace
}  // namespace halograph

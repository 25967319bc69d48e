// The layers of a device, on tensors of the CPU: what they are composed of works on any device.
#include "trainer/kernels/device_sums.h"

#include <vector>

#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"
#include "trainer/blocks/self_loops.h"
#include "trainer/kernels/aggregate.h"
#include "trainer/kernels/attention.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/dynamic_attention.h"
#include "trainer/kernels/normalized_sum.h"
#include "trainer/kernels/sage_layer.h"

namespace halograph {
namespace {

constexpr int64_t kSources = 41;
constexpr int64_t kDestinations = 23;

template <typename T>
torch::Tensor Int32(const std::vector<T>& values) {
  return torch::tensor(values).to(torch::kInt32);
}

torch::Tensor Floats(const std::vector<float>& values) {
  return values.empty() ? torch::Tensor() : torch::tensor(values);
}

BlockOnDevice OnDevice(const Block& block, const TransposedBlock& by_source) {
  std::vector<int32_t> destinations;
  for (size_t v = 0; v + 1 < block.indptr.size(); ++v) {
    destinations.resize(static_cast<size_t>(block.indptr[v + 1]), static_cast<int32_t>(v));
  }
  return {.indptr = Int32(block.indptr),
          .indices = Int32(block.indices),
          .destinations = Int32(destinations),
          .by_source_indptr = Int32(by_source.indptr),
          .by_source_edges = Int32(by_source.edges),
          .by_source_destinations = Int32(by_source.destinations),
          .coefficients = Floats(block.coefficients),
          .degrees = Floats(block.degrees)};
}

// A block, and the same as a device has it.
struct BothWays {
  explicit BothWays(Block of)
      : block(std::move(of)),
        by_source(Transpose(block, kSources)),
        there(OnDevice(block, by_source)) {}

  [[nodiscard]] BlockRef host() const { return {&block, &by_source, nullptr}; }
  [[nodiscard]] BlockRef device() const { return {&block, nullptr, &there}; }

  const Block block;
  const TransposedBlock by_source;
  const BlockOnDevice there;
};

using Over = std::function<torch::Tensor(const BlockRef&, const std::vector<torch::Tensor>&)>;

void ExpectAlike(const BothWays& block, const Over& layer,
                 const std::vector<torch::Tensor>& values) {
  const auto by = [&](const BlockRef& ref) {
    return Differentiate([&](const auto& leaves) { return layer(ref, leaves); }, values);
  };
  ExpectClose(by(block.device()), by(block.host()));
}

TEST(DeviceSumsTest, SumsHaveTheBitsOfTheKernelsBothWays) {
  torch::manual_seed(1);
  for (const int64_t width : {1, 3, 33, 100}) {
    SCOPED_TRACE(width);
    const BothWays block(RandomBlock(static_cast<uint64_t>(width), kDestinations, kSources));
    const auto by = [&](const BlockRef& ref) {
      return Differentiate(
          [&](const auto& leaves) { return Aggregate(leaves[0], ref, Aggregation::kSum); },
          {torch::arange(kSources * width).view({kSources, width}).to(torch::kFloat32).sin()});
    };
    const WithGradients found = by(block.device()), wanted = by(block.host());
    EXPECT_TRUE(torch::equal(found.out, wanted.out));
    EXPECT_TRUE(torch::equal(found.grads[0], wanted.grads[0]));
  }
}

TEST(DeviceSumsTest, LayersAreThoseOfTheCpu) {
  torch::manual_seed(2);
  const LayerOutput output = {.relu = true, .dropout = Dropout::Of(0.4, 3, 1)};
  for (uint64_t key = 1; key < 9; ++key) {
    SCOPED_TRACE(key);
    const Factors& factors = kAllFactors[key % 4];
    const BothWays block(RandomBlock(key, kDestinations, kSources, factors));
    const torch::Tensor h = torch::randn({kSources, 16});
    for (const auto how : {Aggregation::kMean, Aggregation::kMax}) {
      if (how == Aggregation::kMax && factors.coefficients) {
        EXPECT_THROW((void)Aggregate(h, block.device(), how), c10::Error);
        continue;
      }
      ExpectAlike(block,
                  [how](const auto& ref, const auto& l) { return Aggregate(l[0], ref, how); }, {h});
    }
    ExpectAlike(block,
                [&](const auto& ref, const auto& l) {
                  return SageLayer(l[0], ref, {l[1], l[2], l[3]}, output);
                },
                {h, torch::randn({8, 16}), torch::randn({8, 16}), torch::randn({8})});
    ExpectAlike(
        block,
        [](const auto& ref, const auto& l) { return NormalizedByDegree(l[0], ref, BlockRef{}); },
        {h});
  }
}

TEST(DeviceSumsTest, DegreesAreThoseOfTheOuterBlockWhereThereIsOne) {
  torch::manual_seed(3);
  const torch::Tensor h = torch::randn({kSources, 5});
  for (const Factors& factors : kAllFactors) {
    const BothWays block(RandomBlock(7, kDestinations, kSources, factors));
    const BothWays outer(RandomBlock(8, kSources, kSources, factors));
    EXPECT_LT(RelativeDifference(NormalizedByDegree(h, block.device(), outer.device()),
                                 NormalizedByDegree(h, block.host(), outer.host())),
              5e-6);
  }
}

// As in a first layer whose inputs get no gradient.
TEST(DeviceSumsTest, SumsOfCoefficientsNeedNoFormBySource) {
  const BothWays block(RandomBlock(6, kDestinations, kSources, {.coefficients = true}));
  BlockOnDevice one_way = block.there;
  one_way.by_source_indptr = torch::Tensor();
  const torch::Tensor wanted = CoefficientsBySource(block.there, kSources);
  EXPECT_TRUE(torch::equal(CoefficientsBySource(one_way, kSources), wanted));
  EXPECT_EQ(wanted.size(0), kSources);
  EXPECT_NEAR(wanted.sum().item<float>(), block.there.coefficients.sum().item<float>(), 1e-3);
}

void ExpectAttentionOfTheCpu(const BothWays& block) {
  const Dropout dropout = Dropout::Of(0.3, 5, 2);
  const std::vector<torch::Tensor> additive = {
      torch::randn({kSources, 8}), torch::randn({kSources, 2}), torch::randn({kDestinations, 2})};
  const auto attend = [&](const auto& over) {
    return Differentiate(
        [&](const auto& l) {
          return Attend(AttentionInput{l[0], l[1], l[2], 0.2, dropout}, over);
        },
        additive);
  };
  ExpectClose(attend(block.there), attend(TensorsOf(block.block, &block.by_source)));
  const std::vector<torch::Tensor> dynamic = {
      torch::randn({kSources, 8}), torch::randn({kDestinations, 8}), torch::randn({2, 4})};
  const auto rank = [&](const auto& over) {
    return Differentiate(
        [&](const auto& l) {
          return DynamicAttend(DynamicAttentionInput{l[0], l[1], l[2], 0.2, dropout}, over);
        },
        dynamic);
  };
  ExpectClose(rank(block.there), rank(TensorsOf(block.block, &block.by_source)));
}

TEST(DeviceSumsTest, AttentionIsThatOfTheCpu) {
  torch::manual_seed(4);
  ExpectAttentionOfTheCpu(BothWays(WithSelfLoops(RandomBlock(9, kDestinations, kSources))));
  // Of some destinations all edges have coefficient 0.
  Block block = RandomBlock(9, kDestinations, kSources, {.coefficients = true});
  std::fill_n(block.coefficients.begin(), block.indptr[5], 0.0F);
  ExpectAttentionOfTheCpu(BothWays(block));
}

TEST(DeviceSumsTest, ABlockWithoutEdgesGivesZerosBothWays) {
  const BothWays block(Block{0, std::vector<int64_t>(kDestinations + 1), {}});
  const torch::Tensor h = torch::randn({kSources, 3}).requires_grad_();
  for (const auto how : {Aggregation::kSum, Aggregation::kMean, Aggregation::kMax}) {
    const torch::Tensor out = Aggregate(h, block.device(), how);
    EXPECT_TRUE(torch::equal(out, torch::zeros({kDestinations, 3})));
    if (out.requires_grad()) out.sum().backward();
  }
  EXPECT_TRUE(torch::equal(h.grad(), torch::zeros({kSources, 3})));
}

TEST(DeviceSumsTest, ABlockWithoutDestinationsGivesNoRows) {
  const BothWays block(Block{0, {0}, {}});
  const torch::Tensor h = torch::randn({kSources, 3}).requires_grad_();
  const torch::Tensor out = Aggregate(h, block.device(), Aggregation::kMean);
  EXPECT_EQ(out.sizes(), (std::vector<int64_t>{0, 3}));
  out.sum().backward();
  EXPECT_TRUE(torch::equal(h.grad(), torch::zeros({kSources, 3})));
}

TEST(DeviceSumsTest, TheWayBackNeedsTheBlockBySource) {
  BothWays block(RandomBlock(5, kDestinations, kSources));
  BlockOnDevice one_way = block.there;
  one_way.by_source_indptr = torch::Tensor();
  const torch::Tensor h = torch::randn({kSources, 3}).requires_grad_();
  EXPECT_THROW(SumOfSources(h, one_way).sum().backward(), c10::Error);
}

TEST(DeviceSumsTest, DropoutKeepsTheSamePlaces) {
  for (const int64_t cols : {1, 4, 7, 64}) {
    for (const double p : {0.1, 0.5, 0.9}) {
      const Dropout dropout = Dropout::Of(p, 0xfedcba9876543210ULL, 3);
      EXPECT_TRUE(
          torch::equal(KeptPlacesOn(torch::kCPU, dropout, 50, cols), KeptPlaces(dropout, 50, cols)))
          << cols << ", " << p;
    }
  }
}

}  // namespace
}  // namespace halograph

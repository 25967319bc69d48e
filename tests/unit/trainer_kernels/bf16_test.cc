// --precision bf16, from rounding to layers, with each instruction set that this processor has.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "common/storage/narrow_rows.h"
#include "tests/support/every_target.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"
#include "trainer/blocks/self_and_mean.h"
#include "trainer/kernels/bf16_product.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/sage_layer.h"

namespace halograph {
namespace {

uint32_t BitsOf(float value) { return std::bit_cast<uint32_t>(value); }
float OfBits(uint32_t bits) { return std::bit_cast<float>(bits); }

torch::Tensor Rounded(const torch::Tensor& values) {
  return values.to(torch::kBFloat16).to(torch::kFloat32);
}

class NarrowToBf16Test : public EveryTargetTest {};

TEST_P(NarrowToBf16Test, RoundsToTheNearestHalvesToEven) {
  std::vector<float> values = {0.0F,
                               -0.0F,
                               1.0F,
                               OfBits(0x3f808000),  // a half, to even below
                               OfBits(0x3f818000),  // a half, to even above
                               OfBits(0x3f808001),
                               OfBits(0xbf807fff),
                               OfBits(0x00000001),  // denormal: to 0
                               OfBits(0x00008000),  // half of the least denormal
                               OfBits(0x00018000),
                               OfBits(0x80010001),
                               OfBits(0x7f7f7fff),  // the last that stays finite
                               OfBits(0x7f7f8000),  // beyond by half a step
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity()};
  const std::vector<uint16_t> wanted = {0x0000, 0x8000, 0x3f80, 0x3f80, 0x3f82,
                                        0x3f81, 0xbf80, 0x0000, 0x0000, 0x0002,
                                        0x8001, 0x7f7f, 0x7f80, 0x7f80, 0xff80};
  // Alone, and at each place of a vector.
  for (size_t i = 0; i < values.size(); ++i) {
    for (const int64_t count : {1, 3, 31, 33}) {
      const std::vector<float> row(static_cast<size_t>(count), values[i]);
      std::vector<uint16_t> out(row.size() + 1, 77);
      NarrowToBf16(row.data(), count, out.data());
      for (int64_t c = 0; c < count; ++c) ASSERT_EQ(out[c], wanted[i]) << i << " of " << count;
      EXPECT_EQ(out.back(), 77);
    }
  }
}

TEST_P(NarrowToBf16Test, NanStaysNanOfItsSign) {
  for (const uint32_t bits : {0x7fc00000U, 0x7f800001U, 0xff800001U, 0x7fffffffU, 0xffc12345U}) {
    for (const int64_t count : {1, 16, 17}) {
      const std::vector<float> row(static_cast<size_t>(count), OfBits(bits));
      std::vector<uint16_t> out(row.size());
      NarrowToBf16(row.data(), count, out.data());
      for (const uint16_t narrow : out) {
        EXPECT_TRUE(std::isnan(OfBits(static_cast<uint32_t>(narrow) << 16)));
        EXPECT_EQ(narrow >> 15, bits >> 31);
      }
    }
  }
}

TEST_P(NarrowToBf16Test, RoundsAsStoredRowsAre) {
  CounterRng rng(Mix(3));
  for (const int64_t count : {1, 3, 31, 33, 100, 10000}) {
    std::vector<float> row(static_cast<size_t>(count));
    for (float& value : row) {  // of any size but the last few
      value = OfBits(static_cast<uint32_t>(rng.NextBounded(0x7f000000U)) |
                     static_cast<uint32_t>(rng.NextBounded(2)) << 31);
    }
    std::vector<uint16_t> found(row.size()), wanted(row.size());
    NarrowToBf16(row.data(), count, found.data());
    ASSERT_FALSE(NarrowRow(DType::kFloat32, reinterpret_cast<const std::byte*>(row.data()), count,
                           DType::kBFloat16, reinterpret_cast<std::byte*>(wanted.data()))
                     .has_value());
    EXPECT_EQ(found, wanted);
    std::vector<float> back(row.size());
    WidenBf16(found.data(), count, back.data());
    for (size_t i = 0; i < row.size(); ++i) {
      ASSERT_EQ(BitsOf(back[i]), static_cast<uint32_t>(found[i]) << 16);
    }
  }
}

TEST_P(NarrowToBf16Test, MeansOfNarrowRowsHaveTheBitsOfTheSameRowsAsFloats) {
  torch::manual_seed(2);
  for (const int64_t cols : {1, 3, 31, 33, 100, 10000}) {
    const Block block = RandomBlock(4, 23, 41);
    const torch::Tensor narrow = torch::randn({41, cols}).to(torch::kBFloat16);
    const torch::Tensor wide = narrow.to(torch::kFloat32);
    const torch::Tensor found = torch::empty({23, cols}), wanted = torch::empty({23, cols});
    const int64_t* const indptr = block.indptr.data();
    MeanOfRows(PickedBf16Rows{indptr, block.indices.data(), ConstBf16RowsOf(narrow), cols}, 0, 23,
               MutableRowsOf(found));
    MeanOfRows(PickedRows{indptr, block.indices.data(), ConstRowsOf(wide), cols}, 0, 23,
               MutableRowsOf(wanted));
    EXPECT_TRUE(torch::equal(found, wanted)) << cols;
  }
}

HALOGRAPH_EVERY_TARGET(NarrowToBf16Test);

// What the processor does, whatever Highway is told to do without.
class Bf16ProductTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasBf16Products()) GTEST_SKIP() << "this processor has no AVX512-BF16";
  }

  struct Shape {
    int64_t rows, terms, cols;
  };
  static std::vector<Shape> Shapes() {
    std::vector<Shape> shapes = {{0, 3, 5},    {2, 0, 5},     {97, 200, 47}, {13, 601, 208},
                                 {7, 300, 65}, {1, 10, 1000}, {5, 10000, 3}, {3, 2, 10000}};
    for (const int64_t width : {1, 3, 31, 33, 100}) {
      shapes.push_back({width, 33, width});
      shapes.push_back({23, width, 129});
      shapes.push_back({8, width, width});
    }
    return shapes;
  }

  static torch::Tensor RandomBf16(int64_t rows, int64_t cols) {
    return RowsWithRoom(rows, cols, Precision::kBf16).copy_(torch::randn({rows, cols}));
  }
  static ConstPairs PairsOf(const torch::Tensor& rows) {
    const ConstBf16Rows values = ConstBf16RowsOf(rows);
    return {reinterpret_cast<const uint32_t*>(values.data), values.stride / 2};
  }
  // [(rows + 1) / 2, cols], of pairs, with room that is NaN.
  struct Paired {
    explicit Paired(const torch::Tensor& rows)
        : stride(PaddedStride(rows.size(1))),
          pairs(static_cast<size_t>((rows.size(0) + 1) / 2 * stride + 1), 0xffffffffU) {
      PairRows(ConstBf16RowsOf(rows), rows.size(0), rows.size(1), {pairs.data(), stride});
    }
    ConstPairs view() const { return {pairs.data(), stride}; }
    int64_t stride;
    std::vector<uint32_t> pairs;
  };

  static torch::Tensor Product(const torch::Tensor& left, const torch::Tensor& right) {
    const int64_t rows = left.size(0), cols = right.size(1);
    const torch::Tensor out = torch::full({rows, PaddedStride(cols)}, 5.0F).narrow(1, 0, cols);
    MultiplyPairs(PairsOf(left), rows, (left.size(1) + 1) / 2, Paired(right).view(), cols,
                  MutableRowsOf(out));
    return out;
  }
  // On top of ones.
  static torch::Tensor TransposedProduct(const torch::Tensor& left, const torch::Tensor& right) {
    const int64_t rows = left.size(1), cols = right.size(1);
    const torch::Tensor out = torch::ones({rows, PaddedStride(cols)}).narrow(1, 0, cols);
    AddTransposedPairs(Paired(left).view(), rows, (left.size(0) + 1) / 2, Paired(right).view(),
                       cols, MutableRowsOf(out));
    return out;
  }
  // Of the same rounded factors with more digits: products of two bfloat16 are exact in float32,
  // so what is left is the rounding of sums, 2^-24 a term of what is summed up.
  static void ExpectProduct(const torch::Tensor& left, const torch::Tensor& right, double start,
                            const torch::Tensor& found) {
    const torch::Tensor a = left.to(torch::kFloat64), b = right.to(torch::kFloat64);
    const torch::Tensor wanted = a.mm(b) + start, size = a.abs().mm(b.abs()) + 1;
    if (found.numel() == 0) return;
    const double terms = std::sqrt(static_cast<double>(left.size(1))) + 4;
    EXPECT_LT(((found - wanted).abs() / size).max().item<double>(), terms * 0x1p-24);
  }
};

TEST_F(Bf16ProductTest, EveryValueIsTheSumOfItsTerms) {
  torch::manual_seed(1);
  for (const Shape& shape : Shapes()) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.terms << " x " << shape.cols);
    const torch::Tensor left = RandomBf16(shape.rows, shape.terms);
    const torch::Tensor right = RandomBf16(shape.terms, shape.cols);
    ExpectProduct(left, right, 0, Product(left, right));
    const torch::Tensor transposed =
        RowsWithRoom(shape.terms, shape.rows, Precision::kBf16).copy_(left.t());
    ExpectProduct(left, right, 1, TransposedProduct(transposed, right));
  }
}

TEST_F(Bf16ProductTest, RowsWithoutRoomAreNotOverrun) {
  torch::manual_seed(2);
  for (const int64_t cols : {1, 15, 33, 100}) {
    const torch::Tensor left = RandomBf16(13, 40), right = RandomBf16(40, cols);
    const torch::Tensor tight = torch::full({14, cols}, 77.0F);
    MultiplyPairs(PairsOf(left), 13, 20, Paired(right).view(), cols, MutableRowsOf(tight));
    EXPECT_TRUE(torch::equal(tight.narrow(0, 0, 13), Product(left, right)));
    EXPECT_TRUE(tight[13].eq(77).all().item<bool>()) << cols;
  }
}

TEST_F(Bf16ProductTest, NanAndInfinityReachWhatTheyAreTermsOf) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    torch::Tensor left = RandomBf16(20, 9), right = RandomBf16(9, 33);
    left[7][8] = bad;  // the odd term
    left[11][4] = 0;
    right[4][32] = bad;
    const torch::Tensor found = Product(left, right);
    const torch::Tensor wanted = left.to(torch::kFloat32).mm(right.to(torch::kFloat32));
    EXPECT_TRUE(torch::equal(torch::isnan(found), torch::isnan(wanted)));
    EXPECT_TRUE(torch::equal(torch::isinf(found), torch::isinf(wanted)));
  }
}

TEST_F(Bf16ProductTest, DenormalNumbersCountAsZeros) {
  torch::Tensor left = RandomBf16(3, 4), right = RandomBf16(4, 5);
  left.fill_(0x1p-130);
  right.fill_(0x1p100);
  EXPECT_TRUE(Product(left, right).eq(0).all().item<bool>());
}

class Bf16SageLayerTest : public EveryTargetTest {
 protected:
  static SageWeights RandomWeights(int64_t in, int64_t out) {
    return {torch::randn({out, in}), torch::randn({out, in}), torch::randn({out})};
  }
  static WithGradients Run(const torch::Tensor& h, const Block& block, const SageWeights& weights,
                           const LayerOutput& output, Precision precision) {
    return Differentiate(
        [&](const std::vector<torch::Tensor>& leaves) {
          return SageLayer(leaves[0], block, nullptr, {leaves[1], leaves[2], leaves[3]}, output,
                           precision);
        },
        {h, weights.self, weights.neighbor, weights.bias});
  }
};

// The composition of rounded values. What it does not round are [self, mean] of the layer and the
// gradient of the product, to 8 bits each: errors of 2^-9 of a term, of either sign, in each of two
// factors. Relative to the largest value sums of them stay below 2^-6.
constexpr double kBf16Error = 0x1p-6;

TEST_P(Bf16SageLayerTest, IsNearTheCompositionOfRoundedValues) {
  torch::manual_seed(1);
  uint64_t key = 0;
  for (const int64_t in : {1, 3, 31, 33, 100, 128}) {
    for (const int64_t out : {1, 47, 64}) {
      for (const LayerOutput& output : {LayerOutput{}, LayerOutput{true, Dropout::Of(0.5, 9, 1)}}) {
        SCOPED_TRACE(testing::Message() << in << " to " << out << ", relu " << output.relu);
        const Block block = RandomBlock(++key, 23, 41);
        const torch::Tensor h = Rounded(torch::randn({41, in}));
        SageWeights weights = RandomWeights(in, out);
        weights.self = Rounded(weights.self);
        weights.neighbor = Rounded(weights.neighbor);
        const WithGradients found = Run(h, block, weights, output, Precision::kBf16);
        const WithGradients wanted = Run(h, block, weights, output, Precision::kFloat32);
        EXPECT_LT(RelativeDifference(found.out, wanted.out), kBf16Error);
        // Where ReLU cuts may differ for values near 0, and with it any gradient.
        if (output.relu) continue;
        for (size_t i = 0; i < wanted.grads.size(); ++i) {
          EXPECT_LT(RelativeDifference(found.grads[i], wanted.grads[i]), kBf16Error) << i;
        }
      }
    }
  }
}

TEST_P(Bf16SageLayerTest, ProductsOfPairsAreOfProcessorsAndTargetsWithAvx512) {
  if ((GetParam() & (HWY_AVX3 | HWY_AVX3_DL)) == 0) {
    EXPECT_FALSE(HasBf16Products());
  }
}

TEST_P(Bf16SageLayerTest, InputsOfBfloat16AndPreparedRowsGiveTheBitsOfTheLayer) {
  torch::manual_seed(2);
  const LayerOutput output = {true, Dropout::Of(0.5, 9, 1)};
  for (const int64_t in : {1, 33, 100}) {
    const Block block = RandomBlock(6, 23, 41);
    const torch::Tensor h = Rounded(torch::randn({41, in})), narrow = h.to(torch::kBFloat16);
    const SageWeights weights = RandomWeights(in, 47);
    const WithGradients wanted = Run(h, block, weights, output, Precision::kBf16);
    const torch::Tensor rows = torch::empty({23, 2 * in}, torch::kBFloat16);
    FillSelfAndMean(
        ConstBf16RowsOf(narrow), in,
        PickedBf16Rows{block.indptr.data(), block.indices.data(), ConstBf16RowsOf(narrow), in}, 0,
        23, MutableBf16RowsOf(rows));
    for (const bool prepared : {false, true}) {
      const WithGradients found = Differentiate(
          [&](const std::vector<torch::Tensor>& leaves) {
            const SageWeights given = {leaves[0], leaves[1], leaves[2]};
            return prepared ? SageLayerOfRows(rows, given, output)
                            : SageLayer(narrow, block, given, output);
          },
          {weights.self, weights.neighbor, weights.bias});
      EXPECT_TRUE(torch::equal(found.out, wanted.out)) << in;
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(torch::equal(found.grads[i], wanted.grads[i + 1])) << in << ", " << i;
      }
    }
  }
}

TEST_P(Bf16SageLayerTest, BlocksWithoutEdgesDestinationsOrNeighbours) {
  torch::manual_seed(5);
  const SageWeights weights = RandomWeights(7, 5);
  const torch::Tensor h = torch::randn({3, 7});
  for (const Block& block : {Block{0, {0, 0, 0}, {}}, Block{0, {0, 0, 1}, {2}}, Block{0, {0}, {}},
                             Block{0, {0, 1}, {0}}}) {
    const WithGradients found = Run(h, block, weights, {}, Precision::kBf16);
    const WithGradients wanted = Run(h, block, weights, {}, Precision::kFloat32);
    ASSERT_EQ(found.out.sizes(), wanted.out.sizes());
    EXPECT_LT(RelativeDifference(found.out, wanted.out), kBf16Error);
    for (size_t i = 0; i < wanted.grads.size(); ++i) {
      EXPECT_LT(RelativeDifference(found.grads[i], wanted.grads[i]), kBf16Error) << i;
    }
  }
}

HALOGRAPH_EVERY_TARGET(Bf16SageLayerTest);

TEST(Bf16SageLayerEdgesTest, NumberOfThreadsChangesNoBit) {
  torch::manual_seed(7);
  const Block block = RandomBlock(5, 1701, 1900);
  const SageWeights weights = {torch::randn({70, 99}), torch::randn({70, 99}), torch::randn({70})};
  const auto layer = [&](const std::vector<torch::Tensor>& leaves) {
    return SageLayer(leaves[0], block, nullptr, {leaves[1], leaves[2], leaves[3]},
                     {true, Dropout::Of(0.3, 1, 0)}, Precision::kBf16);
  };
  ExpectSameBitsOnAnyThreads(
      layer, {torch::randn({1900, 99}), weights.self, weights.neighbor, weights.bias});
}

TEST(Bf16SageLayerEdgesTest, AVeryWideRowIsTaken) {
  torch::manual_seed(6);
  const Block block = RandomBlock(2, 3, 4);
  const torch::Tensor h = torch::randn({4, 10000});
  const SageWeights weights = {torch::randn({2, 10000}), torch::randn({2, 10000}),
                               torch::randn({2})};
  const torch::Tensor found =
      SageLayer(h, block, nullptr, weights, {.relu = true}, Precision::kBf16);
  const torch::Tensor wanted = SageLayer(h, block, weights, {.relu = true});
  EXPECT_LT(RelativeDifference(found, wanted), kBf16Error);
}

TEST(Bf16SageLayerEdgesTest, InputsOfBfloat16GetNoGradient) {
  const Block block = RandomBlock(2, 3, 4);
  const SageWeights weights = {torch::randn({2, 6}), torch::randn({2, 6}), torch::randn({2})};
  EXPECT_THROW(
      (void)SageLayer(torch::randn({4, 6}, torch::kBFloat16).requires_grad_(), block, weights, {}),
      c10::Error);
}

}  // namespace
}  // namespace halograph

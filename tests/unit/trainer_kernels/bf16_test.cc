// --precision bf16, from rounding to layers, with each instruction set that this processor has.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "common/storage/narrow_rows.h"
#include "tests/support/every_target.h"
#include "tests/support/product_kernel_cases.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_kernels/gradient_checks.h"
#include "trainer/blocks/self_and_mean.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/product_kernel.h"
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
    for (const Factors& factors : kAllFactors) {
      const Block block = RandomBlock(4, 23, 41, factors);
      const torch::Tensor narrow = torch::randn({41, cols}).to(torch::kBFloat16);
      const torch::Tensor wide = narrow.to(torch::kFloat32);
      const torch::Tensor found = torch::empty({23, cols}), wanted = torch::empty({23, cols});
      MeanOfRows(PickBy(block, ConstBf16RowsOf(narrow), cols), 0, 23, MutableRowsOf(found));
      MeanOfRows(PickBy(block, ConstRowsOf(wide), cols), 0, 23, MutableRowsOf(wanted));
      EXPECT_TRUE(torch::equal(found, wanted)) << cols;
    }
  }
}

TEST_P(NarrowToBf16Test, PairsOfFloatsAreThoseOfTheirRoundedRows) {
  torch::manual_seed(4);
  for (const int64_t cols : {1, 3, 15, 16, 33, 100}) {
    for (const int64_t rows : {1, 2, 7}) {
      const torch::Tensor values = torch::randn({rows, cols});
      values[0][cols - 1] = std::numeric_limits<float>::quiet_NaN();
      values[rows - 1][0] = 0x1p-130;  // denormal, and stays so
      const torch::Tensor rounded = torch::empty({rows, cols}, torch::kBFloat16);
      for (int64_t row = 0; row < rows; ++row) {
        NarrowToBf16(ConstRowsOf(values).data + row * cols, cols,
                     MutableBf16RowsOf(rounded).data + row * cols);
      }
      std::vector<uint32_t> found(static_cast<size_t>((rows + 1) / 2 * (cols + 1)), 77);
      std::vector<uint32_t> wanted = found;
      PairRows(ConstRowsOf(values), rows, cols, {found.data(), cols + 1});
      PairRows(ConstBf16RowsOf(rounded), rows, cols, {wanted.data(), cols + 1});
      EXPECT_EQ(found, wanted) << rows << " x " << cols;
    }
  }
}

HALOGRAPH_EVERY_TARGET(NarrowToBf16Test);

TEST(ProductOracleTest, SumsAreRoundedWhereTheInstructionsRound) {
  const auto pair = [](float even, float odd) {
    return BitsOf(even) >> 16 | (BitsOf(odd) & 0xffff0000U);
  };
  const uint32_t ones = pair(1, 1);
  Avx512Sum large{0x1p24F};
  large.Add(ones, ones);  // one after the other is lost
  EXPECT_EQ(large.Result(), 0x1p24F);
  AmxSum apart{0x1p24F};
  apart.Add(ones, ones);  // two at once are not
  EXPECT_EQ(apart.Result(), 0x1p24F + 2);
  Avx512Sum odd_first{0x1p24F};
  odd_first.Add(pair(1, -0x1p24F), ones);
  EXPECT_EQ(odd_first.Result(), 1.0F);
  AmxSum groups{0};  // even terms: 2^24 and 15 ones in the first group, a one in the second
  groups.Add(pair(0x1p24F, 0), ones);
  for (int i = 0; i < 16; ++i) groups.Add(pair(1, i == 15 ? 1 : 0), ones);
  EXPECT_EQ(groups.Result(), 0x1p24F + 2);
  Avx512Sum tiny{0};
  tiny.Add(pair(0x1p-100F, 0), pair(0x1p-28F, 0));  // 2^-128 is denormal
  EXPECT_EQ(tiny.Result(), 0.0F);
}

class Bf16ProductTest : public testing::TestWithParam<KernelCase> {
 protected:
  void SetUp() override {
    if (GetParam().kernel == nullptr) {
      GTEST_SKIP() << "this machine cannot make products by " << GetParam().name;
    }
  }
  void TearDown() override { EXPECT_EQ(EmulatedTiles::mistakes(), 0); }

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

  static torch::Tensor Product(const ProductKernel& kernel, const torch::Tensor& left,
                               const torch::Tensor& right) {
    const int64_t rows = left.size(0), cols = right.size(1);
    const torch::Tensor out = torch::full({rows, PaddedStride(cols)}, 5.0F).narrow(1, 0, cols);
    kernel.multiply({PairsOf(left), rows, (left.size(1) + 1) / 2, Paired(right).view(), cols,
                     MutableRowsOf(out)});
    return out;
  }
  // On top of ones.
  static torch::Tensor TransposedProduct(const ProductKernel& kernel, const torch::Tensor& left,
                                         const torch::Tensor& right) {
    const int64_t rows = left.size(1), cols = right.size(1);
    const torch::Tensor out = torch::ones({rows, PaddedStride(cols)}).narrow(1, 0, cols);
    kernel.add_transposed({Paired(left).view(), rows, (left.size(0) + 1) / 2, Paired(right).view(),
                           cols, MutableRowsOf(out)});
    return out;
  }
  static torch::Tensor Product(const torch::Tensor& left, const torch::Tensor& right) {
    return Product(*GetParam().kernel, left, right);
  }
  static torch::Tensor TransposedProduct(const torch::Tensor& left, const torch::Tensor& right) {
    return TransposedProduct(*GetParam().kernel, left, right);
  }
  static torch::Tensor Transposed(const torch::Tensor& left) {
    return RowsWithRoom(left.size(1), left.size(0), Precision::kBf16).copy_(left.t());
  }
  // Both products have the bits of the oracle's. NaN has many bits.
  static void ExpectBitsOfOracle(const torch::Tensor& left, const torch::Tensor& right) {
    const ProductKernel& oracle = *GetParam().each_value;
    const auto bits = [](const torch::Tensor& values) {
      return torch::where(torch::isnan(values), torch::zeros({}), values).view(torch::kInt32);
    };
    const auto same = [&](const torch::Tensor& found, const torch::Tensor& wanted) {
      EXPECT_TRUE(torch::equal(torch::isnan(found), torch::isnan(wanted)));
      EXPECT_TRUE(torch::equal(bits(found.contiguous()), bits(wanted.contiguous())));
    };
    same(Product(left, right), Product(oracle, left, right));
    const torch::Tensor turned = Transposed(left);
    same(TransposedProduct(turned, right), TransposedProduct(oracle, turned, right));
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

TEST_P(Bf16ProductTest, EveryValueIsTheSumOfItsTerms) {
  torch::manual_seed(1);
  for (const Shape& shape : Shapes()) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.terms << " x " << shape.cols);
    const torch::Tensor left = RandomBf16(shape.rows, shape.terms);
    const torch::Tensor right = RandomBf16(shape.terms, shape.cols);
    ExpectProduct(left, right, 0, Product(left, right));
    ExpectProduct(left, right, 1, TransposedProduct(Transposed(left), right));
  }
}

TEST_P(Bf16ProductTest, RowsWithoutRoomAreNotOverrun) {
  torch::manual_seed(2);
  for (const int64_t cols : {1, 15, 33, 100}) {
    const torch::Tensor left = RandomBf16(13, 40), right = RandomBf16(40, cols);
    const torch::Tensor tight = torch::full({14, cols}, 77.0F);
    GetParam().kernel->multiply(
        {PairsOf(left), 13, 20, Paired(right).view(), cols, MutableRowsOf(tight)});
    EXPECT_TRUE(torch::equal(tight.narrow(0, 0, 13), Product(left, right)));
    EXPECT_TRUE(tight[13].eq(77).all().item<bool>()) << cols;
  }
}

TEST_P(Bf16ProductTest, NanAndInfinityReachWhatTheyAreTermsOf) {
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

TEST_P(Bf16ProductTest, DenormalNumbersCountAsZeros) {
  torch::Tensor left = RandomBf16(3, 4), right = RandomBf16(4, 5);
  left.fill_(0x1p-130);
  right.fill_(0x1p100);
  EXPECT_TRUE(Product(left, right).eq(0).all().item<bool>());
}

TEST_P(Bf16ProductTest, EveryValueHasTheBitsOfTheOracle) {
  torch::manual_seed(3);
  std::vector<Shape> shapes = Shapes();
  // About the edges of tiles and of groups of pairs.
  for (const int64_t rows : {15, 16, 17, 33, 160}) shapes.push_back({rows, 96, 48});
  for (const int64_t terms : {31, 32, 34, 65, 1026}) shapes.push_back({35, terms, 40});
  for (const int64_t cols : {16, 31, 32, 47, 64}) shapes.push_back({48, 70, cols});
  for (const Shape& shape : shapes) {
    if (shape.terms > 2000 || shape.cols > 2000) continue;
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.terms << " x " << shape.cols);
    ExpectBitsOfOracle(RandomBf16(shape.rows, shape.terms), RandomBf16(shape.terms, shape.cols));
  }
}

TEST_P(Bf16ProductTest, NumbersOfAnySizeHaveTheBitsOfTheOracle) {
  torch::manual_seed(4);
  const auto random = [](int64_t rows, int64_t cols, int most) {
    const torch::Tensor sizes = torch::randint(-most, most, {rows, cols}).to(torch::kFloat32);
    return RowsWithRoom(rows, cols, Precision::kBf16)
        .copy_(torch::randn({rows, cols}) * torch::exp2(sizes));
  };
  for (const int most :
       {8, 60, 70}) {  // the last: products and sums that are denormal, or infinite
    SCOPED_TRACE(most);
    torch::Tensor left = random(33, 200, most), right = random(200, 50, most);
    ExpectBitsOfOracle(left, right);
    left[5].mul_(0x1p-120);  // denormal factors
    right.select(1, 7).mul_(0x1p-120);
    left[9][3] = std::numeric_limits<float>::infinity();
    right[17][11] = std::numeric_limits<float>::quiet_NaN();
    ExpectBitsOfOracle(left, right);
  }
}

TEST_P(Bf16ProductTest, CutsBetweenGroupsOfPairsChangeNoBit) {
  torch::manual_seed(5);
  const torch::Tensor left = RandomBf16(200, 37), right = RandomBf16(200, 41);
  const torch::Tensor wanted = TransposedProduct(left, right);
  for (const int64_t some : {32, 96, 192}) {
    const torch::Tensor out = torch::ones({37, PaddedStride(41)}).narrow(1, 0, 41);
    for (int64_t row = 0; row < 200; row += some) {
      const int64_t rows = std::min<int64_t>(some, 200 - row);
      const Paired a(left.narrow(0, row, rows)), b(right.narrow(0, row, rows));
      GetParam().kernel->add_transposed(
          {a.view(), 37, (rows + 1) / 2, b.view(), 41, MutableRowsOf(out)});
    }
    EXPECT_TRUE(torch::equal(out, wanted)) << some;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Bf16ProductTest, testing::ValuesIn(KernelCases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(TurnPairsTest, RowsBecomeColumns) {
  for (const int64_t rows : {1, 3, 16, 20, 35}) {
    for (const int64_t cols : {1, 4, 7, 16, 33}) {
      std::vector<uint32_t> pairs(static_cast<size_t>(rows * (cols + 3)));
      for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<uint32_t>(i);
      std::vector<uint32_t> out(static_cast<size_t>(cols * (rows + 2)), 77);
      TurnPairs({pairs.data(), cols + 3}, rows, cols, {out.data(), rows + 2});
      for (int64_t c = 0; c < cols; ++c) {
        for (int64_t r = 0; r < rows; ++r) {
          ASSERT_EQ(out[c * (rows + 2) + r], r * (cols + 3) + c) << rows << " x " << cols;
        }
        EXPECT_EQ(out[c * (rows + 2) + rows], 77) << "overrun";
      }
    }
  }
}

TEST(ProductKernelTest, TheBestIsChosenThatRunsWell) {
  const auto chosen = [](const ProductMachine& machine) {
    return std::string(ChooseProducts(machine, "")->kernel->name);
  };
  EXPECT_EQ(chosen({}), "float32");
  EXPECT_EQ(chosen({.amx = true}), "amx");
  EXPECT_EQ(chosen({.amx = true, .avx512_bf16 = true}), "amx");
  EXPECT_EQ(chosen({.amx = true, .amx_error = EPERM, .avx512_bf16 = true}), "float32");
  EXPECT_EQ(chosen({.avx512_bf16 = true}), "float32") << "Intel's is slower than float32";
  EXPECT_EQ(chosen({.avx512_bf16 = true, .amd = true}), "avx512_bf16");
  EXPECT_EQ(chosen({.amx = true, .amx_error = ENOSPC, .avx512_bf16 = true, .amd = true}),
            "avx512_bf16");
  EXPECT_EQ(chosen({.amd = true}), "float32");
}

TEST(ProductKernelTest, SaysWhyTheSystemDeniesAmx) {
  const ProductMachine denied = {.amx = true, .amx_error = EPERM, .avx512_bf16 = true};
  EXPECT_THAT(ChooseProducts(denied, "")->denied, testing::HasSubstr("not permitted"));
  EXPECT_EQ(ChooseProducts({.amx = true}, "")->denied, "");
  EXPECT_EQ(ChooseProducts({}, "")->denied, "");
}

TEST(ProductKernelTest, IsForcedByNameWhereTheMachineCanRunIt) {
  const ProductMachine intel = {.amx = true, .amx_error = EPERM, .avx512_bf16 = true};
  EXPECT_EQ(ChooseProducts(intel, "avx512_bf16")->kernel->name, "avx512_bf16");
  EXPECT_EQ(ChooseProducts(intel, "float32")->kernel->name, "float32");
  const auto denied = ChooseProducts(intel, "amx").status();
  EXPECT_EQ(denied.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ToString(denied), testing::AllOf(testing::HasSubstr("HALOGRAPH_PRODUCT_KERNEL=amx"),
                                               testing::HasSubstr("not permitted"),
                                               testing::HasSubstr("avx512_bf16, float32")));
  const auto unknown = ChooseProducts(intel, "sse").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ToString(unknown), testing::HasSubstr("amx, avx512_bf16, float32"));
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

TEST_P(Bf16SageLayerTest, IsNearTheCompositionOfRoundedValues) {
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    SCOPED_TRACE(kernel->name);
    torch::manual_seed(1);
    uint64_t key = 0;
    for (const int64_t in : {1, 3, 31, 33, 100, 128}) {
      for (const int64_t out : {1, 47, 64}) {
        for (const LayerOutput& output :
             {LayerOutput{}, LayerOutput{true, Dropout::Of(0.5, 9, 1)}}) {
          SCOPED_TRACE(testing::Message() << in << " to " << out << ", relu " << output.relu);
          ++key;
          const Block block = RandomBlock(key, 23, 41, kAllFactors[key % 4]);
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
}

TEST_P(Bf16SageLayerTest, InputsOfBfloat16AndPreparedRowsGiveTheBitsOfTheLayer) {
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    SCOPED_TRACE(kernel->name);
    torch::manual_seed(2);
    const LayerOutput output = {true, Dropout::Of(0.5, 9, 1)};
    for (const int64_t in : {1, 33, 100}) {
      for (const Factors& factors : kAllFactors) {
        const Block block = RandomBlock(6, 23, 41, factors);
        const torch::Tensor h = Rounded(torch::randn({41, in})), narrow = h.to(torch::kBFloat16);
        const SageWeights weights = RandomWeights(in, 47);
        const WithGradients wanted = Run(h, block, weights, output, Precision::kBf16);
        const torch::Tensor rows = torch::empty({23, 2 * in}, torch::kBFloat16);
        FillSelfAndMean(ConstBf16RowsOf(narrow), in, PickBy(block, ConstBf16RowsOf(narrow), in), 0,
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
  }
}

TEST_P(Bf16SageLayerTest, BlocksWithoutEdgesDestinationsOrNeighbours) {
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    SCOPED_TRACE(kernel->name);
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
}

HALOGRAPH_EVERY_TARGET(Bf16SageLayerTest);

TEST(Bf16SageLayerEdgesTest, NumberOfThreadsChangesNoBit) {
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    SCOPED_TRACE(kernel->name);
    torch::manual_seed(7);
    const Block block = RandomBlock(5, 1701, 1900, {.coefficients = true, .degrees = true});
    const SageWeights weights = {torch::randn({20, 99}), torch::randn({20, 99}),
                                 torch::randn({20})};
    for (const Precision precision : {Precision::kFloat32, Precision::kBf16}) {
      const auto layer = [&](const std::vector<torch::Tensor>& leaves) {
        const torch::Tensor h =
            precision == Precision::kBf16 ? leaves[0].to(torch::kBFloat16) : leaves[0];
        return SageLayer(h, block, nullptr, {leaves[1], leaves[2], leaves[3]},
                         {.relu = true, .dropout = Dropout::Of(0.3, 1, 0), .precision = precision},
                         Precision::kBf16);
      };
      ExpectSameBitsOnAnyThreads(
          layer, {torch::randn({1900, 99}), weights.self, weights.neighbor, weights.bias});
    }
  }
}

TEST(DenseForwardTest, FewRowsAreSharedOutAmongAllThreadsAndChangeNoBit) {
  const int before = at::get_num_threads();
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    for (const int64_t count : {1, 40, 500}) {
      torch::manual_seed(9);
      const torch::Tensor values = torch::randn({count, 40}), weight = torch::randn({33, 40});
      torch::Tensor wanted;
      for (const int threads : {1, 2, 3, 4, 16}) {
        SCOPED_TRACE(testing::Message() << kernel->name << ", " << count << ", " << threads);
        at::set_num_threads(threads);
        const torch::Tensor x = RowsWithRoom(count, 40, Precision::kBf16);
        std::vector<std::atomic<int>> made(static_cast<size_t>(count));
        std::atomic<int64_t> longest = 0;
        const MakeRows make = [&](int64_t begin, int64_t end) {
          NarrowRows(ConstRowsOf(values), 40, begin, end, MutableBf16RowsOf(x));
          for (int64_t row = begin; row < end; ++row) ++made[static_cast<size_t>(row)];
          for (int64_t most = longest; most < end - begin;) {
            longest.compare_exchange_weak(most, end - begin);
          }
        };
        const torch::Tensor out =
            DenseForward(x, make, {weight}, torch::full({33}, 0.5F), {}, false).out;
        for (const std::atomic<int>& times : made) EXPECT_EQ(times, 1);
        EXPECT_LE(longest, std::max<int64_t>((count + threads - 1) / threads + 31, 32));
        if (!wanted.defined()) wanted = out;
        EXPECT_TRUE(torch::equal(out, wanted));
      }
    }
  }
  at::set_num_threads(before);
}

// Each rounds at other places, none more than another.
TEST(Bf16SageLayerEdgesTest, KernelsGiveOtherBitsOfTheSameAccuracy) {
  torch::manual_seed(8);
  const Block block = RandomBlock(5, 300, 400);
  const torch::Tensor h = Rounded(torch::randn({400, 64}));
  const SageWeights weights = {Rounded(torch::randn({48, 64})), Rounded(torch::randn({48, 64})),
                               torch::randn({48})};
  const torch::Tensor wanted = SageLayer(h, block, weights, {});
  std::vector<torch::Tensor> found;
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    SCOPED_TRACE(kernel->name);
    const torch::Tensor out = SageLayer(h, block, nullptr, weights, {}, Precision::kBf16);
    EXPECT_LT(RelativeDifference(out, wanted), kBf16Error);
    const bool amx = kernel->name == "amx" || kernel == &kEmulatedAmx;
    for (size_t i = 0; i < found.size(); ++i) {
      const bool both_amx = amx && KernelsHere()[i]->name == "amx";
      EXPECT_EQ(torch::equal(out, found[i]), both_amx) << KernelsHere()[i]->name;
    }
    found.push_back(out);
  }
}

TEST(Bf16SageLayerEdgesTest, AVeryWideRowIsTaken) {
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    SCOPED_TRACE(kernel->name);
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
}

// A layer whose rows are of bfloat16 gives those of the layer of float32, rounded, and its
// gradients are those out of a gradient that is rounded before; inputs of bfloat16 get theirs
// rounded.
TEST(Bf16SageLayerEdgesTest, RowsBetweenLayersAreRoundedOnceBothWays) {
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    for (const int64_t in : {1, 9, 70}) {
      SCOPED_TRACE(testing::Message() << kernel->name << ", " << in << " columns");
      torch::manual_seed(10);
      const Block block = RandomBlock(5, 900, 1000, kAllFactors[in % 4]);
      const torch::Tensor narrow = torch::randn({1000, in}).to(torch::kBFloat16);
      const torch::Tensor weights[] = {torch::randn({33, in}), torch::randn({33, in}),
                                       torch::randn({33})};
      const torch::Tensor gradient = Rounded(torch::randn({900, 33}));
      for (const bool relu : {false, true}) {
        const auto run = [&](const torch::Tensor& h, Precision precision) {
          std::vector<torch::Tensor> leaves = {h.clone().requires_grad_()};
          for (const torch::Tensor& weight : weights) {
            leaves.push_back(weight.clone().requires_grad_());
          }
          const torch::Tensor out =
              SageLayer(leaves[0], block, nullptr, {leaves[1], leaves[2], leaves[3]},
                        {.relu = relu, .dropout = Dropout::Of(0.3, 1, 0), .precision = precision},
                        Precision::kBf16);
          out.backward(gradient.to(out.scalar_type()));
          WithGradients found{out.detach(), {}};
          for (const torch::Tensor& leaf : leaves) found.grads.push_back(leaf.grad());
          return found;
        };
        const WithGradients found = run(narrow, Precision::kBf16);
        const WithGradients wanted = run(narrow.to(torch::kFloat32), Precision::kFloat32);
        EXPECT_EQ(found.out.scalar_type(), torch::kBFloat16);
        EXPECT_TRUE(torch::equal(found.out, wanted.out.to(torch::kBFloat16)));
        EXPECT_EQ(found.grads[0].scalar_type(), torch::kBFloat16);
        EXPECT_TRUE(torch::equal(found.grads[0], wanted.grads[0].to(torch::kBFloat16)));
        for (size_t i = 1; i < 4; ++i) {
          EXPECT_TRUE(torch::equal(found.grads[i], wanted.grads[i])) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace halograph

#include "trainer/models/sage.h"

#include <gtest/gtest.h>

#include "tests/support/product_kernel_cases.h"
#include "tests/unit/trainer_models/model_test_support.h"
#include "trainer/models/gcn.h"

namespace halograph {
namespace {

std::shared_ptr<Model> SmallSage(double dropout) {
  SageOptions options;
  options.hidden = 6;
  options.dropout = dropout;
  torch::manual_seed(1);
  return MakeSage(options, SmallShape());
}

torch::Tensor Mean(const torch::Tensor& h, const Block& block) {
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  torch::Tensor adjacency = torch::zeros({rows, h.size(0)});
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t degree = block.indptr[i + 1] - block.indptr[i];
    for (int64_t edge = block.indptr[i]; edge < block.indptr[i + 1]; ++edge) {
      adjacency[i][block.indices[edge]] += 1.0 / static_cast<double>(degree);
    }
  }
  return adjacency.matmul(h);
}

TEST(SageTest, IsTheFormulaOfThePaper) {
  const auto model = SmallSage(0.5);
  const Minibatch minibatch = RandomMinibatch(7);
  const torch::Tensor x = torch::randn({30, 4});
  auto p = model->named_parameters();
  const auto layer = [&](const std::string& name, const torch::Tensor& h, const Block& block) {
    const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
    return h.narrow(0, 0, rows).matmul(p[name + ".self.weight"].t()) +
           Mean(h, block).matmul(p[name + ".neighbor.weight"].t()) + p[name + ".self.bias"];
  };
  const torch::Tensor h1 = torch::relu(layer("layers.0", x, minibatch.layers[1].blocks[0]));
  const torch::Tensor wanted = layer("layers.1", h1, minibatch.layers[0].blocks[0]);
  const torch::Tensor found = model->Forward({&minibatch, {x}, {}})[0];
  EXPECT_TRUE(torch::allclose(found, wanted, 1e-4, 1e-5)) << found << wanted;
  const torch::Tensor embeddings = model->Embed({&minibatch, {x}, {}})[0];
  EXPECT_TRUE(torch::allclose(embeddings, h1.narrow(0, 0, found.size(0)), 1e-4, 1e-5));
}

TEST(SageTest, DropoutActsOnlyWhereDrawsAreGiven) {
  const Minibatch minibatch = RandomMinibatch(7);
  const torch::Tensor x = torch::randn({30, 4});
  const auto run = [&](Model& model, std::optional<uint64_t> draws) {
    return model.Forward({&minibatch, {x}, draws})[0];
  };
  const auto model = SmallSage(0.5);
  const torch::Tensor evaluated = run(*model, {});
  EXPECT_FALSE(torch::equal(run(*model, 1), evaluated));
  EXPECT_FALSE(torch::equal(run(*model, 1), run(*model, 2)));
  EXPECT_TRUE(torch::equal(run(*SmallSage(0), 1), evaluated));
}

std::shared_ptr<Model> MakeOf(const SageOptions& options, const ModelShape& shape) {
  return MakeSage(options, shape);
}
std::shared_ptr<Model> MakeOf(const GcnOptions& options, const ModelShape& shape) {
  return MakeGcn(options, shape);
}

// Those that nothing else reads, before or behind.
TEST(LayeredModelTest, RowsForTheNextLayerAreOfBfloat16WhereProductsAreOfPairs) {
  const Minibatch minibatch = RandomMinibatch(7);
  const torch::Tensor x = torch::randn({30, 4});
  const auto type_of = [&](const auto& options, Precision precision, bool for_next_layer) {
    ModelShape shape = SmallShape();
    shape.precision = precision;
    const LayerInput input{
        .layer = &minibatch.layers[1], .nodes = {x}, .for_next_layer = for_next_layer};
    return MakeOf(options, shape)->ForwardLayer(0, input)[0].scalar_type();
  };
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    SCOPED_TRACE(kernel->name);
    const SageOptions plain;
    EXPECT_EQ(type_of(plain, Precision::kBf16, true),
              kernel->has_pairs() ? torch::kBFloat16 : torch::kFloat32);
    EXPECT_EQ(type_of(plain, Precision::kBf16, false), torch::kFloat32);
    EXPECT_EQ(type_of(plain, Precision::kFloat32, true), torch::kFloat32);
    EXPECT_EQ(type_of(GcnOptions(), Precision::kBf16, true),
              type_of(plain, Precision::kBf16, true));
    std::vector<SageOptions> others(4);
    others[0].aggregator = SageAggregator::kPool;
    others[1].residual = true;
    others[2].norm = Normalization::kLayer;
    others[3].ngnn = 1;
    for (const SageOptions& other : others) {
      EXPECT_EQ(type_of(other, Precision::kBf16, true), torch::kFloat32);
    }
  }
}

}  // namespace
}  // namespace halograph

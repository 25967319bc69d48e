#include "trainer/models/sage.h"

#include <gtest/gtest.h>

#include "tests/unit/trainer_models/random_block.h"

namespace halograph {
namespace {

constexpr SageOptions kSmall{
    .layers = 2, .in_dim = 4, .hidden = 6, .num_classes = 3, .dropout = 0.5};

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
  torch::manual_seed(1);
  Sage model(kSmall);
  model->eval();
  const Minibatch minibatch = RandomMinibatch(7);
  const torch::Tensor x = torch::randn({30, 4});
  auto p = model->named_parameters();
  const auto layer = [&](const std::string& name, const torch::Tensor& h, const Block& block) {
    const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
    return h.narrow(0, 0, rows).matmul(p[name + ".self.weight"].t()) +
           Mean(h, block).matmul(p[name + ".neighbor.weight"].t()) + p[name + ".self.bias"];
  };
  const torch::Tensor h1 = torch::relu(layer("layers.0", x, minibatch.layers[1].blocks[0]));
  const torch::Tensor h2 = layer("layers.1", h1, minibatch.layers[0].blocks[0]);
  const torch::Tensor wanted = torch::stack({h2[4], h2[0], h2[4]});
  const torch::Tensor found = model->forward(x, minibatch);
  EXPECT_TRUE(torch::allclose(found, wanted, 1e-4, 1e-5)) << found << wanted;
}

TEST(SageTest, DropoutActsInTrainingOnly) {
  torch::manual_seed(1);
  Sage model(kSmall);
  const Minibatch minibatch = RandomMinibatch(7);
  const torch::Tensor x = torch::randn({30, 4});
  model->eval();
  EXPECT_TRUE(torch::equal(model->forward(x, minibatch), model->forward(x, minibatch)));
  model->train();
  EXPECT_FALSE(torch::equal(model->forward(x, minibatch), model->forward(x, minibatch)));
}

TEST(SageTest, EveryParameterGetsAGradient) {
  torch::manual_seed(1);
  Sage model(kSmall);
  const Minibatch minibatch = RandomMinibatch(9);
  model->forward(torch::randn({30, 4}), minibatch).square().sum().backward();
  for (const auto& parameter : model->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().sum().item<float>(), 0) << parameter.key();
  }
}

TEST(SageTest, OneLayerAndThreeLayersHaveTheRightShapes) {
  const Minibatch two = RandomMinibatch(3);
  Minibatch one = two;
  one.layers = {two.layers[1]};
  SageOptions options = kSmall;
  options.layers = 1;
  EXPECT_EQ(Sage(options)->forward(torch::randn({30, 4}), one).sizes(),
            (std::vector<int64_t>{3, 3}));
  Minibatch three = two;
  three.layers.push_back({{RandomBlock(1, 30, 40)}, {30}, {40}});
  options.layers = 3;
  EXPECT_EQ(Sage(options)->forward(torch::randn({40, 4}), three).sizes(),
            (std::vector<int64_t>{3, 3}));
}

}  // namespace
}  // namespace halograph

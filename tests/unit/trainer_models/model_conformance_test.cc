// What every registered model keeps to (trainer/models/model.h).
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trainer_models/model_test_support.h"

namespace halograph {
namespace {

class ModelConformanceTest : public testing::TestWithParam<std::string> {
 protected:
  static std::shared_ptr<Model> MakeSeeded(uint64_t seed, int64_t layers = 2,
                                           Precision precision = Precision::kFloat32) {
    torch::manual_seed(seed);
    const ModelKind& kind = **FindModelKind(GetParam());
    ModelShape shape = SmallShape(layers);
    shape.precision = precision;
    return kind.make(*kind.options(), shape);
  }
  static torch::Tensor Run(Model& model, const Minibatch& minibatch, const torch::Tensor& x,
                           std::optional<uint64_t> draws) {
    const auto outputs = model.Forward({&minibatch, {x}, draws});
    EXPECT_EQ(outputs.size(), 1U);
    return outputs[0];
  }
};

TEST_P(ModelConformanceTest, OneRowForEveryUniqueSeedWithTheColumnsAskedFor) {
  const Minibatch two = RandomMinibatch(3);
  EXPECT_EQ(Run(*MakeSeeded(1), two, torch::randn({30, 4}), {}).sizes(),
            (std::vector<int64_t>{5, 3}));
  Minibatch one = two;
  one.layers = {two.layers[1]};
  EXPECT_EQ(Run(*MakeSeeded(1, 1), one, torch::randn({30, 4}), {}).sizes(),
            (std::vector<int64_t>{12, 3}));
  Minibatch three = two;
  three.layers.push_back({{RandomBlock(1, 30, 40)}, {30}, {40}});
  EXPECT_EQ(Run(*MakeSeeded(1, 3), three, torch::randn({40, 4}), {}).sizes(),
            (std::vector<int64_t>{5, 3}));
}

TEST_P(ModelConformanceTest, AnEmbeddingForEveryUniqueSeed) {
  Minibatch minibatch = RandomMinibatch(3);
  const torch::Tensor x = torch::randn({30, 4});
  const auto two = MakeSeeded(1);
  EXPECT_EQ(two->Embed({&minibatch, {x}, {}})[0].sizes(),
            (std::vector<int64_t>{5, two->embedding_dim()}));
  minibatch.layers = {minibatch.layers[1]};
  const auto one = MakeSeeded(1, 1);
  EXPECT_EQ(one->Embed({&minibatch, {x}, {}})[0].sizes(),
            (std::vector<int64_t>{12, one->embedding_dim()}));
}

TEST_P(ModelConformanceTest, EveryParameterIsFloatAndGetsAGradient) {
  const auto model = MakeSeeded(1);
  const Minibatch minibatch = RandomMinibatch(9);
  Run(*model, minibatch, torch::randn({30, 4}), {}).square().sum().backward();
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_EQ(parameter.value().scalar_type(), torch::kFloat32) << parameter.key();
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().sum().item<float>(), 0) << parameter.key();
  }
}

TEST_P(ModelConformanceTest, InputsGetAGradientWhereItIsAskedFor) {
  const auto model = MakeSeeded(1);
  const Minibatch minibatch = RandomMinibatch(9);
  const torch::Tensor x = torch::randn({30, 4}).requires_grad_();
  Run(*model, minibatch, x, {}).square().sum().backward();
  ASSERT_TRUE(x.grad().defined());
  EXPECT_GT(x.grad().abs().sum().item<float>(), 0);
}

TEST_P(ModelConformanceTest, TheSameSeedGivesTheSameWeights) {
  const auto a = MakeSeeded(7)->named_parameters();
  const auto b = MakeSeeded(7)->named_parameters();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].key(), b[i].key());
    EXPECT_TRUE(torch::equal(a[i].value(), b[i].value())) << a[i].key();
  }
}

TEST_P(ModelConformanceTest, DrawsComeFromTheKeyAndFromNowhereElse) {
  const auto model = MakeSeeded(1);
  model->train();
  const Minibatch minibatch = RandomMinibatch(7);
  const torch::Tensor x = torch::randn({30, 4});
  torch::manual_seed(1);
  const torch::Tensor first = Run(*model, minibatch, x, 5);
  torch::manual_seed(2);
  EXPECT_TRUE(torch::equal(first, Run(*model, minibatch, x, 5)));
  torch::manual_seed(1);
  const torch::Tensor before = torch::rand({4});
  torch::manual_seed(1);
  (void)Run(*model, minibatch, x, 6);
  EXPECT_TRUE(torch::equal(before, torch::rand({4}))) << "libtorch's own generator was used";
}

// All that a step or an evaluation takes out of a model.
struct Outcome {
  torch::Tensor output, embeddings;
  std::vector<torch::Tensor> gradients;
};

Outcome RunStep(Model& model, const ModelInput& input) {
  Outcome outcome;
  outcome.output = model.Forward(input)[0];
  outcome.output.square().sum().backward();
  outcome.embeddings = model.Embed(input)[0].detach();
  for (const torch::Tensor& parameter : model.parameters()) {
    outcome.gradients.push_back(parameter.grad());
  }
  return outcome;
}

TEST_P(ModelConformanceTest, WhatIsPreparedForItGivesTheBitsOfWhatItDoesItself) {
  const ModelNeeds needs = (*FindModelKind(GetParam()))->needs;
  const Minibatch two = RandomMinibatch(7);
  Minibatch one = two, three = two;
  one.layers = {two.layers[1]};
  three.layers.push_back({{RandomBlock(1, 30, 40)}, {30}, {40}});
  const torch::Tensor x = torch::randn({40, 4});
  const int before = at::get_num_threads();
  for (const Minibatch* minibatch : {&std::as_const(one), &two, &std::as_const(three)}) {
    const auto layers = std::ssize(minibatch->layers);
    at::set_num_threads(1);
    const Outcome wanted = RunStep(*MakeSeeded(1, layers), {minibatch, {x}, 3});
    for (const int threads : {1, 2, 4}) {
      SCOPED_TRACE(testing::Message() << layers << " layers, " << threads << " threads");
      at::set_num_threads(threads);
      const PreparedInput prepared(needs, *minibatch, x, 3);
      const Outcome found = RunStep(*MakeSeeded(1, layers), prepared.input);
      EXPECT_TRUE(torch::equal(found.output, wanted.output));
      EXPECT_TRUE(torch::equal(found.embeddings, wanted.embeddings));
      for (size_t i = 0; i < wanted.gradients.size(); ++i) {
        EXPECT_TRUE(torch::equal(found.gradients[i], wanted.gradients[i])) << i;
      }
    }
  }
  at::set_num_threads(before);
}

TEST_P(ModelConformanceTest, PrecisionBf16RoundsRowsAndNothingElse) {
  const ModelNeeds needs = (*FindModelKind(GetParam()))->needs;
  const Minibatch two = RandomMinibatch(7);
  Minibatch one = two;
  one.layers = {two.layers[1]};
  const torch::Tensor x = torch::randn({30, 4}).to(torch::kBFloat16).to(torch::kFloat32);
  for (const Minibatch* minibatch : {&std::as_const(one), &two}) {
    const auto layers = std::ssize(minibatch->layers);
    const Outcome wanted = RunStep(*MakeSeeded(1, layers), {minibatch, {x}, {}});
    const auto model = MakeSeeded(1, layers, Precision::kBf16);
    const Outcome found = RunStep(*model, {minibatch, {x.to(torch::kBFloat16)}, {}});
    EXPECT_EQ(found.output.scalar_type(), torch::kFloat32);
    EXPECT_EQ(found.embeddings.scalar_type(), torch::kFloat32);
    for (const torch::Tensor& gradient : found.gradients) {
      EXPECT_EQ(gradient.scalar_type(), torch::kFloat32);
    }
    EXPECT_FALSE(torch::equal(found.output, wanted.output)) << "nothing was rounded";
    EXPECT_TRUE(torch::allclose(found.output, wanted.output, 0.02, 0.02));
    EXPECT_TRUE(torch::allclose(found.embeddings, wanted.embeddings, 0.02, 0.02));
    const PreparedInput prepared(needs, *minibatch, x, {}, Precision::kBf16);
    const auto same = MakeSeeded(1, layers, Precision::kBf16);
    EXPECT_TRUE(torch::equal(RunStep(*same, prepared.input).output, found.output));
  }
}

TEST_P(ModelConformanceTest, NothingIsDrawnInEvaluation) {
  const auto model = MakeSeeded(1);
  model->eval();
  const Minibatch minibatch = RandomMinibatch(7);
  const torch::Tensor x = torch::randn({30, 4});
  EXPECT_TRUE(torch::equal(Run(*model, minibatch, x, {}), Run(*model, minibatch, x, {})));
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const ModelKind& kind : ModelKinds()) names.emplace_back(kind.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, ModelConformanceTest, testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace halograph

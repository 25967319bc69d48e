// What every registered model keeps to (trainer/models/model.h).
#include <ostream>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/product_kernel_cases.h"
#include "tests/unit/trainer_models/model_test_support.h"

namespace halograph {
namespace {

// A kind with options, as the command line sets them.
struct ModelCase {
  std::string name;
  std::string kind;
  std::vector<std::pair<std::string, std::string>> options;
};

void PrintTo(const ModelCase& tested, std::ostream* out) { *out << tested.name; }

std::unique_ptr<ModelOptions> OptionsOfCase(const ModelCase& tested) {
  auto options = (*FindModelKind(tested.kind))->options();
  OptionTable rows;
  options->AddRows(rows);
  for (const auto& [name, text] : tested.options) {
    EXPECT_TRUE(rows.Set(name, text).ok()) << name;
  }
  EXPECT_TRUE(options->Validate().ok());
  return options;
}

// All that a step or an evaluation takes out of a model.
struct Outcome {
  torch::Tensor output, embeddings;
  std::vector<torch::Tensor> gradients;
};

torch::Tensor RowsOfAllTypes(std::vector<torch::Tensor> rows) {
  std::erase_if(rows, [](const torch::Tensor& of_type) { return !of_type.defined(); });
  return rows.size() == 1 ? rows.front() : torch::cat(rows);
}

Outcome RunStep(Model& model, const ModelInput& input) {
  Outcome outcome;
  outcome.output = RowsOfAllTypes(model.Forward(input));
  outcome.output.square().sum().backward();
  outcome.embeddings = RowsOfAllTypes(model.Embed(input)).detach();
  for (const torch::Tensor& parameter : model.parameters()) {
    outcome.gradients.push_back(parameter.grad());
  }
  return outcome;
}

void ExpectSameOutcome(const Outcome& found, const Outcome& wanted) {
  EXPECT_TRUE(torch::equal(found.output, wanted.output));
  EXPECT_TRUE(torch::equal(found.embeddings, wanted.embeddings));
  for (size_t i = 0; i < wanted.gradients.size(); ++i) {
    ASSERT_EQ(found.gradients[i].defined(), wanted.gradients[i].defined()) << i;
    if (!wanted.gradients[i].defined()) continue;
    EXPECT_TRUE(torch::equal(found.gradients[i], wanted.gradients[i])) << i;
  }
}

class ModelConformanceTest : public testing::TestWithParam<ModelCase> {
 protected:
  static const ModelKind& kind() { return **FindModelKind(GetParam().kind); }
  static std::unique_ptr<ModelOptions> Options() { return OptionsOfCase(GetParam()); }
  static ModelNeeds Needs() { return Options()->NeedsOf(kind().needs); }
  static std::shared_ptr<Model> MakeSeeded(uint64_t seed, int64_t layers = 2,
                                           Precision precision = Precision::kFloat32) {
    torch::manual_seed(seed);
    ModelShape shape = SmallShape(layers);
    shape.precision = precision;
    return kind().make(*Options(), shape);
  }
  static torch::Tensor Run(Model& model, const Minibatch& minibatch, const torch::Tensor& x,
                           std::optional<uint64_t> draws) {
    const auto outputs = model.Forward({&minibatch, {x}, draws});
    EXPECT_EQ(outputs.size(), 1U);
    return outputs[0];
  }
  static void ExpectTheSameOnADevice(const Minibatch& minibatch);
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

// On tensors of the CPU: what a model makes of them works on any device.
TEST_P(ModelConformanceTest, BlocksOnADeviceGiveTheSameRowsAndGradients) {
  for (const Factors& factors : kAllFactors) {
    if (factors.coefficients && !Options()->TakesCoefficients().ok()) continue;
    SCOPED_TRACE(testing::Message() << factors.coefficients << factors.degrees);
    ExpectTheSameOnADevice(RandomMinibatch(9, factors));
  }
}

// The same edges: each listed as often as its coefficient says, and with that coefficient.
struct Repeated {
  explicit Repeated(Minibatch minibatch) : weighed(std::move(minibatch)) {
    listed = weighed;
    for (size_t l = 0; l < weighed.layers.size(); ++l) {
      for (size_t b = 0; b < weighed.layers[l].blocks.size(); ++b) {
        Repeat(17 * l + b, &weighed.layers[l].blocks[b], &listed.layers[l].blocks[b]);
      }
    }
  }
  // 0 to 3 times, all of a destination's edges 0 now and then.
  static void Repeat(uint64_t key, Block* weighed, Block* listed) {
    CounterRng rng(Mix(key));
    listed->indices.clear();
    for (size_t v = 0; v + 1 < weighed->indptr.size(); ++v) {
      const bool none = rng.NextBounded(4) == 0;
      for (int64_t e = weighed->indptr[v]; e < weighed->indptr[v + 1]; ++e) {
        const uint64_t times = none ? 0 : rng.NextBounded(4);
        listed->indices.insert(listed->indices.end(), times, weighed->indices[e]);
        weighed->coefficients.push_back(static_cast<float>(times));
      }
      listed->indptr[v + 1] = std::ssize(listed->indices);
    }
  }

  Minibatch weighed, listed;
};

void ExpectNearOutcome(const Outcome& found, const Outcome& wanted) {
  EXPECT_TRUE(torch::allclose(found.output, wanted.output, 1e-4, 1e-4));
  EXPECT_TRUE(torch::allclose(found.embeddings, wanted.embeddings, 1e-4, 1e-4));
  for (size_t i = 0; i < wanted.gradients.size(); ++i) {
    ASSERT_EQ(found.gradients[i].defined(), wanted.gradients[i].defined()) << i;
    if (!wanted.gradients[i].defined()) continue;
    const auto scale = std::max(1.0, wanted.gradients[i].abs().max().item<double>());
    EXPECT_TRUE(torch::allclose(found.gradients[i], wanted.gradients[i], 1e-4, 1e-4 * scale)) << i;
  }
}

TEST_P(ModelConformanceTest, ACoefficientCountsAsTheEdgeListedSoOften) {
  const auto options = Options();
  const Repeated edges(RandomMinibatch(11, {.degrees = true}));
  const torch::Tensor x = torch::randn({30, 4});
  if (!options->TakesCoefficients().ok()) {
    EXPECT_THAT(std::string(options->TakesCoefficients().message()), testing::HasSubstr("--"));
    EXPECT_THROW((void)Run(*MakeSeeded(1), edges.weighed, x, {}), c10::Error);
    return;
  }
  // Nothing is left out: places of edges would not be the same.
  ExpectNearOutcome(RunStep(*MakeSeeded(1), {&edges.weighed, {x}, {}}),
                    RunStep(*MakeSeeded(1), {&edges.listed, {x}, {}}));
  // A mean without degrees is another: it divides by the number of edges, whatever they count.
  if (!Needs().source_degrees && Needs().form != BlockForm::kSelfLoops) return;
  const Repeated alone(RandomMinibatch(11));
  ExpectNearOutcome(RunStep(*MakeSeeded(1), {&alone.weighed, {x}, {}}),
                    RunStep(*MakeSeeded(1), {&alone.listed, {x}, {}}));
}

void ModelConformanceTest::ExpectTheSameOnADevice(const Minibatch& minibatch) {
  const BlockForm form =
      Needs().form == BlockForm::kSelfLoops ? BlockForm::kSelfLoops : BlockForm::kSampled;
  const LayerBlocks made = *MakeLayerBlocks(PlainSchema(), minibatch, form, BySource::kAll);
  const BlockLayout layout(minibatch, made);
  const torch::Tensor packed = torch::empty({layout.size()}, torch::kInt32);
  layout.Write(packed.data_ptr<int32_t>());
  const std::vector<LayerOnDevice> there = layout.Views(packed);
  const torch::Tensor x = torch::randn({30, 4});
  const auto train = [&](const std::vector<LayerOnDevice>* on_device) {
    const auto model = MakeSeeded(1);
    model->train();
    ModelInput input{&minibatch, {x.clone().requires_grad_()}, 5};
    if (on_device != nullptr) input.blocks = &made;
    input.on_device = on_device;
    std::vector<torch::Tensor> values = {model->Forward(input)[0]};
    values.front().square().sum().backward();
    for (const torch::Tensor& parameter : model->parameters()) values.push_back(parameter.grad());
    values.push_back(input.nodes[0].grad());
    return values;
  };
  const auto wanted = train(nullptr), found = train(&there);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(torch::allclose(found[i], wanted[i], 1e-4, 1e-4))
        << i << ": " << (found[i] - wanted[i]).abs().max() << " of " << wanted[i].abs().max();
  }
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

TEST_P(ModelConformanceTest, WhatIsPreparedForItGivesTheBitsOfWhatItDoesItself) {
  const ModelNeeds needs = Needs();
  const Factors factors = {.coefficients = Options()->TakesCoefficients().ok(), .degrees = true};
  const Minibatch two = RandomMinibatch(7, factors);
  Minibatch one = two, three = two;
  one.layers = {RandomMinibatch(7).layers[1]};
  three.layers.push_back({{RandomBlock(1, 30, 40, factors)}, {30}, {40}});
  const torch::Tensor all = torch::randn({40, 4});
  const int before = at::get_num_threads();
  for (const Minibatch* minibatch : {&std::as_const(one), &two, &std::as_const(three)}) {
    const auto layers = std::ssize(minibatch->layers);
    const torch::Tensor x = all.narrow(0, 0, minibatch->layers.back().num_sources.front());
    at::set_num_threads(1);
    const Outcome wanted = RunStep(*MakeSeeded(1, layers), {minibatch, {x}, 3});
    for (const int threads : {1, 2, 4}) {
      SCOPED_TRACE(testing::Message() << layers << " layers, " << threads << " threads");
      at::set_num_threads(threads);
      const PreparedInput prepared(needs, *minibatch, x, 3);
      ExpectSameOutcome(RunStep(*MakeSeeded(1, layers), prepared.input), wanted);
    }
  }
  at::set_num_threads(before);
}

TEST_P(ModelConformanceTest, PrecisionBf16RoundsRowsAndNothingElseByEachProductKernel) {
  const ModelNeeds needs = Needs();
  const Minibatch two = RandomMinibatch(7);
  Minibatch one = two;
  one.layers = {two.layers[1]};
  const torch::Tensor x = torch::randn({30, 4}).to(torch::kBFloat16).to(torch::kFloat32);
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    for (const Minibatch* minibatch : {&std::as_const(one), &two}) {
      const auto layers = std::ssize(minibatch->layers);
      SCOPED_TRACE(testing::Message() << kernel->name << ", " << layers << " layers");
      const Outcome wanted = RunStep(*MakeSeeded(1, layers), {minibatch, {x}, {}});
      const auto model = MakeSeeded(1, layers, Precision::kBf16);
      const Outcome found = RunStep(*model, {minibatch, {x.to(torch::kBFloat16)}, {}});
      EXPECT_EQ(found.output.scalar_type(), torch::kFloat32);
      EXPECT_EQ(found.embeddings.scalar_type(), torch::kFloat32);
      for (const torch::Tensor& gradient : found.gradients) {
        EXPECT_EQ(gradient.scalar_type(), torch::kFloat32);
      }
      // Inputs that are bfloat16 already lose nothing where products are of widened rows.
      if (layers > 1 || kernel->has_pairs()) {
        EXPECT_FALSE(torch::equal(found.output, wanted.output)) << "nothing was rounded";
      }
      EXPECT_TRUE(torch::allclose(found.output, wanted.output, 0.02, 0.02));
      EXPECT_TRUE(torch::allclose(found.embeddings, wanted.embeddings, 0.02, 0.02));
      const PreparedInput prepared(needs, *minibatch, x, {}, Precision::kBf16);
      const auto same = MakeSeeded(1, layers, Precision::kBf16);
      EXPECT_TRUE(torch::equal(RunStep(*same, prepared.input).output, found.output));
    }
  }
}

TEST_P(ModelConformanceTest, NothingIsDrawnInEvaluation) {
  const auto model = MakeSeeded(1);
  model->eval();
  const Minibatch minibatch = RandomMinibatch(7);
  const torch::Tensor x = torch::randn({30, 4});
  EXPECT_TRUE(torch::equal(Run(*model, minibatch, x, {}), Run(*model, minibatch, x, {})));
}

// Of kinds that read the neighbours of graphs of several node types and relations.
class TypedModelConformanceTest : public testing::TestWithParam<ModelCase> {
 protected:
  static std::shared_ptr<Model> MakeTyped(uint64_t seed, int64_t layers = 2,
                                          Precision precision = Precision::kFloat32) {
    torch::manual_seed(seed);
    ModelShape shape = TypedShape(layers);
    shape.precision = precision;
    return (*FindModelKind(GetParam().kind))->make(*OptionsOfCase(GetParam()), shape);
  }
};

TEST_P(TypedModelConformanceTest, ARowForEveryUniqueSeedOfEveryType) {
  const Minibatch two = TypedMinibatch(3);
  Minibatch one = two;
  one.layers = {two.layers[1]};
  for (const Minibatch* minibatch : {&std::as_const(one), &two}) {
    const std::vector<int64_t>& seeds = minibatch->layers.front().num_destinations;
    const auto model = MakeTyped(1, std::ssize(minibatch->layers));
    const ModelInput input{minibatch, TypedInputs(), {}};
    const auto outputs = model->Forward(input), embeddings = model->Embed(input);
    ASSERT_EQ(outputs.size(), 3U);
    ASSERT_EQ(embeddings.size(), 3U);
    for (size_t type = 0; type < 3; ++type) {
      ASSERT_EQ(outputs[type].defined(), seeds[type] > 0) << type;
      ASSERT_EQ(embeddings[type].defined(), seeds[type] > 0) << type;
      if (seeds[type] == 0) continue;
      EXPECT_EQ(outputs[type].sizes(), (std::vector<int64_t>{seeds[type], 3}));
      EXPECT_EQ(embeddings[type].sizes(),
                (std::vector<int64_t>{seeds[type], model->embedding_dim()}));
    }
  }
}

TEST_P(TypedModelConformanceTest, ParametersAndInputsOfEveryTypeGetAGradient) {
  const auto model = MakeTyped(1);
  const Minibatch minibatch = TypedMinibatch(9);
  std::vector<torch::Tensor> nodes = TypedInputs();
  for (torch::Tensor& rows : nodes) rows.requires_grad_();
  const auto outputs = model->Forward({&minibatch, nodes, {}});
  (outputs[0].square().sum() + outputs[1].square().sum()).backward();
  for (const auto& parameter : model->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().sum().item<float>(), 0) << parameter.key();
  }
  for (const torch::Tensor& rows : nodes) {
    ASSERT_TRUE(rows.grad().defined());
    EXPECT_GT(rows.grad().abs().sum().item<float>(), 0);
  }
}

// Inputs get a gradient here, since types have rows of other widths: the first layer is given by
// source too, or not.
TEST_P(TypedModelConformanceTest, WhatIsPreparedForItGivesTheBitsOfWhatItDoesItself) {
  ModelNeeds needs = OptionsOfCase(GetParam())->NeedsOf((*FindModelKind(GetParam().kind))->needs);
  EXPECT_NE(needs.form, BlockForm::kSampled);
  const Minibatch two = TypedMinibatch(5, {.coefficients = true, .degrees = true});
  Minibatch one = two;
  one.layers = {TypedMinibatch(5).layers[1]};
  const std::vector<torch::Tensor> nodes = TypedInputs();
  for (const Minibatch* minibatch : {&std::as_const(one), &two}) {
    const auto layers = std::ssize(minibatch->layers);
    const Outcome wanted = RunStep(*MakeTyped(1, layers), {minibatch, nodes, 3});
    for (const BySource by_source : {BySource::kNone, BySource::kAboveFirst, BySource::kAll}) {
      needs.by_source = by_source;
      const PreparedInput prepared(needs, *minibatch, nodes, 3);
      ExpectSameOutcome(RunStep(*MakeTyped(1, layers), prepared.input), wanted);
    }
  }
}

TEST_P(TypedModelConformanceTest, ACoefficientCountsAsTheEdgeListedSoOften) {
  const Repeated edges(TypedMinibatch(6, {.degrees = true}));
  const std::vector<torch::Tensor> nodes = TypedInputs();
  ExpectNearOutcome(RunStep(*MakeTyped(1), {&edges.weighed, nodes, {}}),
                    RunStep(*MakeTyped(1), {&edges.listed, nodes, {}}));
}

TEST_P(TypedModelConformanceTest, Bf16IsNearFloat32ByEachProductKernelOnAnyThreads) {
  torch::manual_seed(4);
  const Minibatch minibatch = TypedMinibatch(9);
  const ModelInput input{&minibatch, TypedInputs(), {}};
  const auto run = [&](Precision precision, int threads) {
    at::set_num_threads(threads);
    const auto model = MakeTyped(1, 2, precision);
    model->eval();  // a norm over columns of two rows makes anything of their rounding
    return RunStep(*model, input);
  };
  const int before = at::get_num_threads();
  const Outcome wanted = run(Precision::kFloat32, 1);
  for (const ProductKernel* kernel : KernelsHere()) {
    const KernelInUse in_use(kernel);
    SCOPED_TRACE(kernel->name);
    const Outcome found = run(Precision::kBf16, 1);
    EXPECT_FALSE(torch::equal(found.output, wanted.output)) << "nothing was rounded";
    EXPECT_TRUE(torch::allclose(found.output, wanted.output, 0.02, 0.02));
    EXPECT_TRUE(torch::allclose(found.embeddings, wanted.embeddings, 0.02, 0.02));
    for (const int threads : {3, 16}) ExpectSameOutcome(run(Precision::kBf16, threads), found);
  }
  at::set_num_threads(before);
}

TEST_P(TypedModelConformanceTest, RelationsWithoutEdgesAndTypesWithoutNodesAreTaken) {
  // One paper without a neighbour is all that there is.
  Minibatch minibatch;
  for (int l = 0; l < 2; ++l) {
    SampledLayer layer{{}, {0, 1, 0}, {0, 1, 0}};
    for (int r = 0; r < 5; ++r) {
      const bool into_papers = TypedSchema().DestinationType(r) == 1;
      layer.blocks.push_back({r, std::vector<int64_t>(into_papers ? 2 : 1), {}});
    }
    minibatch.layers.push_back(std::move(layer));
  }
  minibatch.nodes = {{}, {5}, {}};
  minibatch.seed_positions = {{0}};
  const auto model = MakeTyped(1);
  const auto outputs = model->Forward(
      {&minibatch, {torch::empty({0, 4}), torch::randn({1, 6}), torch::empty({0, 3})}, 4});
  EXPECT_FALSE(outputs[0].defined());
  EXPECT_FALSE(outputs[2].defined());
  ASSERT_EQ(outputs[1].sizes(), (std::vector<int64_t>{1, 3}));
  outputs[1].square().sum().backward();
}

// Every kind with its defaults, and what options make another model of it.
std::vector<ModelCase> Cases() {
  std::vector<ModelCase> cases;
  for (const ModelKind& kind : ModelKinds()) {
    cases.push_back({std::string(kind.name), std::string(kind.name), {}});
  }
  cases.push_back({"sage_pool", "sage", {{"aggregator", "pool"}, {"hidden", "24"}}});
  cases.push_back({"sage_input_dropout", "sage", {{"input-dropout", "0.5"}, {"hidden", "24"}}});
  cases.push_back({"gcn_input_dropout", "gcn", {{"input-dropout", "0.5"}, {"hidden", "24"}}});
  cases.push_back({"sgc_input_dropout", "sgc", {{"input-dropout", "0.5"}}});
  cases.push_back({"gat_v2", "gat", {{"gatv2", "true"}, {"output-heads", "2"}, {"hidden", "24"}}});
  cases.push_back({"gat_dropout",
                   "gat",
                   {{"attention-dropout", "0.5"}, {"input-dropout", "0.5"}, {"hidden", "24"}}});
  const std::vector<std::pair<std::string, std::string>> layer_norm = {
      {"hidden", "24"}, {"residual", "true"}, {"norm", "layer"}, {"ngnn", "1"}};
  const std::vector<std::pair<std::string, std::string>> no_norm = {
      {"hidden", "24"}, {"residual", "true"}, {"ngnn", "2"}};
  cases.push_back({"rgcn_bases", "rgcn", {{"bases", "2"}, {"hidden", "24"}}});
  cases.push_back({"rgcn_blocks", "rgcn", {{"blocks", "4"}, {"hidden", "24"}}});
  for (const std::string kind : {"sage", "gcn", "gat", "rgcn"}) {
    cases.push_back({kind + "_layer_norm", kind, layer_norm});
    cases.push_back({kind + "_no_norm", kind, no_norm});
    cases.push_back({kind + "_batch_norm", kind, {{"hidden", "24"}, {"norm", "batch"}}});
  }
  return cases;
}

std::vector<ModelCase> TypedCases() {
  std::vector<ModelCase> cases = Cases();
  std::erase_if(cases, [](const ModelCase& tested) {
    const ModelNeeds needs = (*FindModelKind(tested.kind))->needs;
    return needs.one_relation || !needs.neighbors;
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, TypedModelConformanceTest, testing::ValuesIn(TypedCases()),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Models, ModelConformanceTest, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace halograph

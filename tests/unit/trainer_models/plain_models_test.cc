// The models of graphs of one node type and one relation are the formulas of their papers, written
// out over dense matrices.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/trainer_models/model_test_support.h"
#include "trainer/kernels/linear_layer.h"
#include "trainer/models/gat.h"
#include "trainer/models/gcn.h"
#include "trainer/models/hidden_layer.h"
#include "trainer/models/sage.h"
#include "trainer/models/sgc.h"
#include "trainer/torch/rows_seen.h"

namespace halograph {
namespace {

using testing::HasSubstr;

template <typename Options, typename Make>
std::shared_ptr<Model> SeededPlain(Make make, const Options& options, int64_t layers = 2) {
  torch::manual_seed(1);
  const auto model = make(options, SmallShape(layers));
  // Biases that are zero at first must count too.
  const torch::NoGradGuard no_grad;
  for (auto& parameter : model->named_parameters()) {
    const auto& name = parameter.key();
    if (name.size() >= 4 && name.substr(name.size() - 4) == "bias") parameter.value().normal_();
  }
  return model;
}

torch::Tensor PlainOutput(Model& model, const Minibatch& minibatch, const torch::Tensor& x) {
  return model.Forward({&minibatch, {x}, {}})[0];
}

// [destinations, sources]: how often a destination lists a source, itself once more.
torch::Tensor WithSelves(const Block& block, int64_t sources) {
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  torch::Tensor adjacency = torch::eye(rows, sources);
  for (int64_t v = 0; v < rows; ++v) {
    for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
      adjacency[v][block.indices[e]] += 1;
    }
  }
  return adjacency;
}

void ExpectPlainNear(const torch::Tensor& found, const torch::Tensor& wanted) {
  EXPECT_TRUE(torch::allclose(found, wanted, 1e-4, 1e-5)) << found << wanted;
}

// An undirected graph of 9 nodes, and all of it as each layer of a minibatch: every node is a seed.
Minibatch WholeGraph(int64_t layers) {
  const std::vector<std::pair<int, int>> edges = {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4},
                                                  {4, 5}, {5, 6}, {6, 0}, {7, 3}};
  std::vector<std::vector<int32_t>> neighbours(9);
  for (const auto& [a, b] : edges) neighbours[a].push_back(b), neighbours[b].push_back(a);
  Block block{0, {0}, {}};
  for (const auto& of : neighbours) {
    block.indices.insert(block.indices.end(), of.begin(), of.end());
    block.indptr.push_back(static_cast<int64_t>(block.indices.size()));
  }
  Minibatch minibatch;
  minibatch.layers.assign(static_cast<size_t>(layers), {{block}, {9}, {9}});
  minibatch.nodes = {std::vector<int64_t>(9)};
  return minibatch;
}

// D^-1/2 (A + I) D^-1/2 of the whole graph.
torch::Tensor Normalized(const Minibatch& minibatch) {
  const torch::Tensor adjacency = WithSelves(minibatch.layers[0].blocks[0], 9);
  const torch::Tensor scales = torch::rsqrt(adjacency.sum(1));
  return scales.unsqueeze(1) * adjacency * scales.unsqueeze(0);
}

TEST(GcnTest, OnAWholeGraphIsTheFormulaOfThePaper) {
  GcnOptions options;
  options.hidden = 6;
  const auto model = SeededPlain(MakeGcn, options);
  const Minibatch minibatch = WholeGraph(2);
  const torch::Tensor x = torch::randn({9, 4}), s = Normalized(minibatch);
  auto p = model->named_parameters();
  const auto layer = [&](const std::string& name, const torch::Tensor& h) {
    return s.matmul(h).matmul(p[name + ".weight"].t()) + p[name + ".bias"];
  };
  const torch::Tensor hidden = torch::relu(layer("layers.0", x));
  ExpectPlainNear(PlainOutput(*model, minibatch, x), layer("layers.1", hidden));
  ExpectPlainNear(model->Embed({&minibatch, {x}, {}})[0], hidden);
}

TEST(SgcTest, OnAWholeGraphIsTheFormulaOfThePaper) {
  const auto model = SeededPlain(MakeSgc, SgcOptions(), 3);
  const Minibatch minibatch = WholeGraph(3);
  const torch::Tensor x = torch::randn({9, 4}), s = Normalized(minibatch);
  auto p = model->named_parameters();
  const torch::Tensor propagated = s.matmul(s.matmul(s.matmul(x)));
  ExpectPlainNear(PlainOutput(*model, minibatch, x),
                  propagated.matmul(p["linear.weight"].t()) + p["linear.bias"]);
  ExpectPlainNear(model->Embed({&minibatch, {x}, {}})[0], propagated);
}

// With all neighbours drawn, the degrees of seeds, and of what they list, are those of the graph.
TEST(GcnTest, IsExactWhereTheBlocksKnowTheDegrees) {
  GcnOptions options;
  options.hidden = 6;
  const auto model = SeededPlain(MakeGcn, options);
  // A seed of degree 1 lists a node of degree 3, which lists two others and the seed.
  Minibatch minibatch;
  minibatch.layers = {{{{0, {0, 1}, {1}}}, {1}, {2}}, {{{0, {0, 1, 4}, {1, 2, 3, 0}}}, {2}, {4}}};
  minibatch.nodes = {std::vector<int64_t>(4)};
  const torch::Tensor x = torch::randn({4, 4});
  auto p = model->named_parameters();
  const auto layer = [&](const std::string& name, const torch::Tensor& sums) {
    return sums.matmul(p[name + ".weight"].t()) + p[name + ".bias"];
  };
  const double of_seed = 1 / std::sqrt(2.0), of_other = 1 / std::sqrt(4.0);
  const torch::Tensor seed =
      torch::relu(layer("layers.0", of_seed * (of_seed * x[0] + of_other * x[1])));
  // Of the last two nodes no edge was asked for: each is listed once.
  const torch::Tensor ring = (x[2] + x[3]) / std::sqrt(2.0);
  const torch::Tensor other =
      torch::relu(layer("layers.0", of_other * (of_other * x[1] + ring + of_seed * x[0])));
  ExpectPlainNear(model->Embed({&minibatch, {x}, {}})[0][0], seed);
  ExpectPlainNear(PlainOutput(*model, minibatch, x)[0],
                  layer("layers.1", of_seed * (of_seed * seed + of_other * other)));
}

// The weights of one head, [destinations, sources], of scores of the same shape.
torch::Tensor Attention(const torch::Tensor& scores, const torch::Tensor& listed) {
  const torch::Tensor powers = torch::exp(scores) * listed;
  return powers / powers.sum(1, true);
}

TEST(GatTest, IsTheFormulaOfThePaper) {
  for (const bool gatv2 : {false, true}) {
    SCOPED_TRACE(gatv2);
    GatOptions options;
    options.hidden = 6;
    options.heads = 2;
    options.output_heads = 3;
    options.gatv2 = gatv2;
    options.negative_slope = 0.1;
    const auto model = SeededPlain(MakeGat, options);
    const Minibatch minibatch = RandomMinibatch(7);
    auto p = model->named_parameters();
    const auto heads = [&](const std::string& name, const torch::Tensor& h, const Block& block,
                           int64_t count) {
      const torch::Tensor listed = WithSelves(block, h.size(0));
      const torch::Tensor z = h.matmul(p[name + ".projection"].t());
      const int64_t width = z.size(1) / count;
      std::vector<torch::Tensor> outputs;
      for (int64_t head = 0; head < count; ++head) {
        const torch::Tensor of_head = z.narrow(1, head * width, width);
        const torch::Tensor vector = p[name + ".source_vector"][head];
        torch::Tensor scores;
        if (gatv2) {
          const torch::Tensor own = h.narrow(0, 0, listed.size(0))
                                        .matmul(p[name + ".destination"].t())
                                        .narrow(1, head * width, width);
          scores = torch::leaky_relu(own.unsqueeze(1) + of_head.unsqueeze(0), 0.1).matmul(vector);
        } else {
          const torch::Tensor own =
              of_head.narrow(0, 0, listed.size(0)).matmul(p[name + ".destination_vector"][head]);
          scores = torch::leaky_relu(own.unsqueeze(1) + of_head.matmul(vector).unsqueeze(0), 0.1);
        }
        outputs.push_back(Attention(scores, listed).matmul(of_head));
      }
      return outputs;
    };
    const torch::Tensor x = torch::randn({30, 4});
    const torch::Tensor hidden = torch::elu(
        torch::cat(heads("layers.0", x, minibatch.layers[1].blocks[0], 2), 1) + p["layers.0.bias"]);
    const auto last = heads("layers.1", hidden, minibatch.layers[0].blocks[0], 3);
    ExpectPlainNear(PlainOutput(*model, minibatch, x),
                    (last[0] + last[1] + last[2]) / 3 + p["layers.1.bias"]);
    ExpectPlainNear(model->Embed({&minibatch, {x}, {}})[0], hidden.narrow(0, 0, 5));
  }
}

TEST(GatTest, HeadsThatDoNotDivideTheWidthAreRefusedByName) {
  GatOptions options;
  options.hidden = 64;
  options.heads = 6;
  EXPECT_EQ(options.Validate().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--heads is 6"));
  EXPECT_THAT(Message(options.Validate()), HasSubstr("--hidden 64"));
  options.hidden = 66;
  EXPECT_TRUE(options.Validate().ok());
}

TEST(SageTest, PoolTakesTheLargestOfADenseLayerOfNeighbours) {
  SageOptions options;
  options.hidden = 6;
  options.aggregator = SageAggregator::kPool;
  const auto model = SeededPlain(MakeSage, options);
  const Minibatch minibatch = RandomMinibatch(7);
  auto p = model->named_parameters();
  const auto layer = [&](const std::string& name, const torch::Tensor& h, const Block& block) {
    const torch::Tensor pooled =
        torch::relu(h.matmul(p[name + ".pool.weight"].t()) + p[name + ".pool.bias"]);
    std::vector<torch::Tensor> rows;
    for (size_t v = 0; v + 1 < block.indptr.size(); ++v) {
      torch::Tensor most = torch::zeros({h.size(1)});  // nothing is below it behind ReLU
      for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
        most = torch::maximum(most, pooled[block.indices[e]]);
      }
      rows.push_back(most);
    }
    const auto count = static_cast<int64_t>(rows.size());
    return h.narrow(0, 0, count).matmul(p[name + ".self.weight"].t()) +
           torch::stack(rows).matmul(p[name + ".neighbor.weight"].t()) + p[name + ".self.bias"];
  };
  const torch::Tensor x = torch::randn({30, 4});
  const torch::Tensor hidden = torch::relu(layer("layers.0", x, minibatch.layers[1].blocks[0]));
  ExpectPlainNear(PlainOutput(*model, minibatch, x),
                  layer("layers.1", hidden, minibatch.layers[0].blocks[0]));
}

TEST(SageTest, OnlyTheMeanOfWholeInputsIsMadeBeforeTheStep) {
  const ModelNeeds kind = {.one_relation = true, .input_rows = InputRows::kSelfAndMean};
  SageOptions options;
  EXPECT_EQ(options.NeedsOf(kind).input_rows, InputRows::kSelfAndMean);
  options.input_dropout = 0.1;
  EXPECT_EQ(options.NeedsOf(kind).input_rows, InputRows::kNodes);
  options.input_dropout = 0;
  options.aggregator = SageAggregator::kPool;
  EXPECT_EQ(options.NeedsOf(kind).input_rows, InputRows::kNodes);
  EXPECT_TRUE(options.NeedsOf(kind).one_relation);
}

// What a hidden layer does around a formula that gives `z` where it read `own`.
struct HiddenRun {
  HiddenRun(const LayerOptions& options, Activation activation, int64_t in, int64_t out)
      : own(torch::randn({20, in})),
        z(torch::randn({20, out})),
        layer(options, activation, Precision::kFloat32, in, out, 3),
        parameters(layer->named_parameters()) {}

  torch::Tensor operator()(const std::optional<uint64_t>& draws = {}) {
    const LayerOutput output = layer->OfFormula(draws);
    torch::Tensor begun = output.relu ? torch::relu(z) : z;
    if (output.relu) begun = Drop(begun, output.dropout);
    return layer->Finish(begun, own, draws);
  }

  torch::Tensor own, z;
  HiddenLayer layer;
  torch::OrderedDict<std::string, torch::Tensor> parameters;
};

TEST(HiddenLayerTest, WithoutOptionsTheFormulaDoesActivationAndDropoutItself) {
  HiddenRun run({}, Activation::kRelu, 4, 6);
  EXPECT_TRUE(run.parameters.is_empty());
  EXPECT_EQ(run.layer->OfFormula(5).dropout.key, Dropout::Of(0.5, 5, 3).key);
  EXPECT_TRUE(run.layer->Finish(run.z, run.own, 5).is_same(run.z));
}

TEST(HiddenLayerTest, NgnnNormAndResidualStandInTheOrderOfTheContract) {
  torch::manual_seed(3);
  for (const Activation activation : {Activation::kRelu, Activation::kElu}) {
    for (const Normalization norm : {Normalization::kNone, Normalization::kLayer}) {
      LayerOptions options;
      options.ngnn = 2;
      options.norm = norm;
      options.residual = true;
      HiddenRun run(options, activation, 4, 6);
      const auto act = [&](const torch::Tensor& h) {
        return activation == Activation::kElu ? torch::elu(h) : torch::relu(h);
      };
      auto& p = run.parameters;
      torch::Tensor h = run.z;
      for (const std::string k : {"0", "1"}) {
        h = torch::linear(act(h), p["dense." + k + ".weight"], p["dense." + k + ".bias"]);
      }
      if (norm == Normalization::kLayer) {
        const torch::NoGradGuard no_grad;
        p["weight"].normal_(), p["bias"].normal_();
        h = torch::layer_norm(h, {6}, p["weight"], p["bias"]);
      }
      h = act(h);
      const torch::Tensor residual = run.own.matmul(p["projection.weight"].t());
      ExpectPlainNear(run(), h + residual);
      ExpectPlainNear(run(5), Drop(h.contiguous(), Dropout::Of(0.5, 5, 3)) + residual);
    }
  }
}

TEST(HiddenLayerTest, AResidualOfTheSameWidthHasNoProjection) {
  LayerOptions options;
  options.residual = true;
  HiddenRun run(options, Activation::kRelu, 6, 6);
  EXPECT_TRUE(run.parameters.is_empty());
  ExpectPlainNear(run(), torch::relu(run.z) + run.own);
}

TEST(HiddenLayerTest, BatchNormUsesTheStepInTrainingAndTheRunningFiguresElsewhere) {
  torch::manual_seed(4);
  LayerOptions options;
  options.norm = Normalization::kBatch;
  HiddenRun run(options, Activation::kRelu, 4, 6);
  const int64_t followed = run.z.size(0);
  const torch::Tensor mean = run.z.mean(0), variance = run.z.var(0, /*unbiased=*/false);
  ExpectPlainNear(run(), torch::relu((run.z - mean) * torch::rsqrt(variance + 1e-5)));
  const auto buffers = run.layer->named_buffers();
  ExpectPlainNear(buffers["running_mean"], 0.1 * mean);
  run.layer->eval();
  const torch::Tensor evaluated = run();
  ExpectPlainNear(evaluated, torch::relu((run.z - 0.1 * mean) *
                                         torch::rsqrt(buffers["running_variance"] + 1e-5)));
  EXPECT_TRUE(torch::equal(run(), evaluated));
  // A single row has no variance of its own.
  run.layer->train();
  run.z = run.z.narrow(0, 0, 1), run.own = run.own.narrow(0, 0, 1);
  ExpectPlainNear(run(), evaluated.narrow(0, 0, 1));
  EXPECT_TRUE(buffers["running_variance"].isfinite().all().item<bool>());
  EXPECT_EQ(buffers[kRowsSeen].item<float>(), static_cast<float>(followed))
      << "rows that the running figures have not followed";
}

}  // namespace
}  // namespace halograph

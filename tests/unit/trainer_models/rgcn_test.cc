#include "trainer/models/rgcn.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trainer_models/model_test_support.h"

namespace halograph {
namespace {

using Parameters = torch::OrderedDict<std::string, torch::Tensor>;

// W_r of a layer as a whole matrix, whatever it is made of.
using MatrixOf = torch::Tensor (*)(const Parameters& p, const std::string& layer, int relation);

torch::Tensor FullMatrix(const Parameters& p, const std::string& layer, int relation) {
  return p[layer + ".relations"][relation][0];
}
torch::Tensor OfBases(const Parameters& p, const std::string& layer, int relation) {
  const torch::Tensor factors = p[layer + ".coefficients"][relation];
  return (factors.view({-1, 1, 1}) * p[layer + ".bases"]).sum(0);
}
torch::Tensor OfBlocks(const Parameters& p, const std::string& layer, int relation) {
  return torch::block_diag(p[layer + ".relations"][relation].unbind(0));
}

// The mean of no rows is 0.
torch::Tensor RelationMean(const torch::Tensor& h, const Block& block) {
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

// The formula of the paper, type by type and relation by relation.
std::vector<torch::Tensor> PlainLayer(const Parameters& p, const std::string& name,
                                      MatrixOf matrix_of, const std::vector<torch::Tensor>& h,
                                      const SampledLayer& layer) {
  std::vector<torch::Tensor> z;
  for (size_t type = 0; type < h.size(); ++type) {
    z.push_back(
        h[type].narrow(0, 0, layer.num_destinations[type]).matmul(p[name + ".self.weight"].t()) +
        p[name + ".self.bias"]);
  }
  for (const Block& block : layer.blocks) {
    const auto source = static_cast<size_t>(TypedSchema().SourceType(block.relation));
    const auto destination = static_cast<size_t>(TypedSchema().DestinationType(block.relation));
    z[destination] = z[destination] +
                     RelationMean(h[source], block).matmul(matrix_of(p, name, block.relation).t());
  }
  return z;
}

struct PlainRgcn {
  std::vector<torch::Tensor> outputs, embeddings;
};

PlainRgcn Plain(const Parameters& p, MatrixOf matrix_of, const std::vector<torch::Tensor>& nodes,
                const Minibatch& minibatch) {
  std::vector<torch::Tensor> h;
  for (size_t type = 0; type < nodes.size(); ++type) {
    const std::string name = "inputs.type" + std::to_string(type);
    h.push_back(p.contains(name + ".weight")
                    ? torch::linear(nodes[type], p[name + ".weight"], p[name + ".bias"])
                    : nodes[type]);
  }
  h = PlainLayer(p, "layers.0", matrix_of, h, minibatch.layers[1]);
  for (torch::Tensor& rows : h) rows = torch::relu(rows);
  return {PlainLayer(p, "layers.1", matrix_of, h, minibatch.layers[0]), h};
}

struct Variant {
  std::string name;
  int64_t bases = 0;
  int64_t blocks = 0;
  MatrixOf matrix_of = nullptr;
};

RgcnOptions OptionsOf(const Variant& variant) {
  RgcnOptions options;
  options.hidden = 6;
  options.bases = variant.bases;
  options.blocks = variant.blocks;
  return options;
}

class RgcnTest : public testing::TestWithParam<Variant> {};

TEST_P(RgcnTest, IsTheFormulaOfThePaperForwardAndBackward) {
  torch::manual_seed(1);
  const auto model = MakeRgcn(OptionsOf(GetParam()), TypedShape());
  const Minibatch minibatch = TypedMinibatch(4);
  const Parameters p = model->named_parameters();
  std::vector<torch::Tensor> nodes = TypedInputs();
  for (torch::Tensor& rows : nodes) rows.requires_grad_();
  const auto found = model->Forward({&minibatch, nodes, {}});
  const auto embedded = model->Embed({&minibatch, nodes, {}});
  const PlainRgcn wanted = Plain(p, GetParam().matrix_of, nodes, minibatch);
  std::vector<torch::Tensor> leaves = model->parameters();
  leaves.insert(leaves.end(), nodes.begin(), nodes.end());
  // Each value counts by a factor of its own.
  const auto gradients = [&](const std::vector<torch::Tensor>& outputs) {
    torch::Tensor loss = torch::zeros({});
    for (const size_t type : {0, 1}) {
      loss =
          loss +
          (outputs[type] *
           torch::sin(
               torch::arange(outputs[type].numel(), torch::kFloat32).view(outputs[type].sizes())))
              .sum();
    }
    return torch::autograd::grad({loss}, leaves);
  };
  for (const size_t type : {0, 1}) {
    EXPECT_TRUE(torch::allclose(found[type], wanted.outputs[type], 1e-4, 1e-5)) << type;
    const int64_t seeds = minibatch.layers[0].num_destinations[type];
    EXPECT_TRUE(
        torch::allclose(embedded[type], wanted.embeddings[type].narrow(0, 0, seeds), 1e-4, 1e-5));
  }
  const auto found_gradients = gradients(found), wanted_gradients = gradients(wanted.outputs);
  for (size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_TRUE(torch::allclose(found_gradients[i], wanted_gradients[i], 1e-3, 1e-5)) << i;
  }
}

TEST_P(RgcnTest, DropoutActsOnlyWhereDrawsAreGiven) {
  torch::manual_seed(1);
  const auto model = MakeRgcn(OptionsOf(GetParam()), TypedShape());
  const Minibatch minibatch = TypedMinibatch(4);
  const auto nodes = TypedInputs();
  const auto run = [&](std::optional<uint64_t> draws) {
    return model->Forward({&minibatch, nodes, draws})[1];
  };
  EXPECT_TRUE(torch::equal(run({}), run({})));
  EXPECT_TRUE(torch::equal(run(1), run(1)));
  EXPECT_FALSE(torch::equal(run(1), run({})));
  EXPECT_FALSE(torch::equal(run(1), run(2)));
}

INSTANTIATE_TEST_SUITE_P(Weights, RgcnTest,
                         testing::Values(Variant{"Full", 0, 0, FullMatrix},
                                         Variant{"Bases", 2, 0, OfBases},
                                         // The last layer, of 6 and 3 columns, has 3 blocks too.
                                         Variant{"Blocks", 0, 3, OfBlocks}),
                         [](const auto& test) { return test.param.name; });

TEST(RgcnBasesTest, ABasisARelationIsAMatrixARelationWithTheSameDropout) {
  const auto full = MakeRgcn(OptionsOf({}), TypedShape());
  const auto bases = MakeRgcn(OptionsOf({.name = "", .bases = 5}), TypedShape());
  const torch::NoGradGuard no_grad;
  Parameters from = full->named_parameters(), to = bases->named_parameters();
  for (auto& parameter : to) {
    const std::string layer = parameter.key().substr(0, parameter.key().rfind('.'));
    if (parameter.key() == layer + ".coefficients") {
      parameter.value().copy_(torch::eye(5));
    } else if (parameter.key() == layer + ".bases") {
      parameter.value().copy_(from[layer + ".relations"].select(1, 0));
    } else {
      parameter.value().copy_(from[parameter.key()]);
    }
  }
  const Minibatch minibatch = TypedMinibatch(4);
  const auto nodes = TypedInputs();
  EXPECT_TRUE(torch::allclose(full->Forward({&minibatch, nodes, 8})[1],
                              bases->Forward({&minibatch, nodes, 8})[1], 1e-4, 1e-5));
}

TEST(RgcnInputsTest, RowsOfOneWidthGoInAsTheyAre) {
  ModelShape shape = TypedShape();
  EXPECT_TRUE(MakeRgcn(OptionsOf({}), shape)->named_parameters().contains("inputs.type0.weight"));
  shape.input_dims = {4, 4, 4};
  for (const auto& parameter : MakeRgcn(OptionsOf({}), shape)->named_parameters()) {
    EXPECT_THAT(parameter.key(), testing::StartsWith("layers."));
  }
  shape.input_dims = {6, 4, 6};  // hidden is 6: only papers are projected
  const Parameters p = MakeRgcn(OptionsOf({}), shape)->named_parameters();
  EXPECT_FALSE(p.contains("inputs.type0.weight"));
  EXPECT_TRUE(p.contains("inputs.type1.weight"));
}

TEST(RgcnDropoutTest, NodesOfDifferentTypesLoseDifferentValues) {
  torch::manual_seed(1);
  ModelShape shape = TypedShape();
  shape.input_dims = {6, 6, 6};
  RgcnOptions options;
  const auto model = MakeRgcn(options, shape);
  Minibatch alone;  // without edges
  alone.layers = {{{}, {4, 4, 0}, {4, 4, 0}}, {{}, {4, 4, 0}, {4, 4, 0}}};
  alone.nodes = {std::vector<int64_t>(4), std::vector<int64_t>(4), {}};
  const torch::Tensor x = torch::randn({4, 6});
  const auto evaluated = model->Embed({&alone, {x, x, {}}, {}});
  EXPECT_TRUE(torch::equal(evaluated[0], evaluated[1]));
  const auto trained = model->Embed({&alone, {x, x, {}}, 7});
  EXPECT_FALSE(torch::equal(trained[0], trained[1]));
}

TEST(RgcnRelationsTest, ALayerWithoutSomeRelationsIsAsOneWhereTheyHaveNoEdges) {
  torch::manual_seed(1);
  const auto model = MakeRgcn(OptionsOf({}), TypedShape());
  Minibatch without = TypedMinibatch(4), empty = without;
  for (SampledLayer& layer : without.layers) {
    layer.blocks.erase(layer.blocks.begin() + 4);
    layer.blocks.erase(layer.blocks.begin());
  }
  for (SampledLayer& layer : empty.layers) {
    for (const size_t r : {0, 4}) {
      layer.blocks[r].indices.clear();
      std::fill(layer.blocks[r].indptr.begin(), layer.blocks[r].indptr.end(), 0);
    }
  }
  const auto nodes = TypedInputs();
  EXPECT_TRUE(torch::equal(model->Forward({&without, nodes, {}})[1],
                           model->Forward({&empty, nodes, {}})[1]));
}

RgcnOptions OneHot(int64_t bases) {
  RgcnOptions options = OptionsOf({.name = "", .bases = bases});
  options.input = RgcnInput::kFeatureless;
  return options;
}

// Rows as wide as the options say, of every type.
ModelShape ShapeOf(const RgcnOptions& options) {
  ModelShape shape = TypedShape();
  shape.input_dims.clear();
  const std::vector<LearntType> types = *options.OwnInputs(TypedSchema());
  for (const LearntType& type : types) shape.input_dims.push_back(type.dim);
  return shape;
}

std::vector<torch::Tensor> OwnRowsOf(const ModelShape& shape) {
  std::vector<torch::Tensor> rows;
  for (size_t type = 0; type < 3; ++type) {
    const int64_t nodes = TypedInputs()[type].size(0);
    rows.push_back(torch::randn({nodes, shape.input_dims[type]}).requires_grad_());
  }
  return rows;
}

// Equation 3 with one-hot inputs, as products of matrices: those of a relation, [nodes of the
// source type, hidden], times the adjacency of the relation with rows of mean.
std::vector<torch::Tensor> PlainOneHotLayer(const torch::Tensor& coefficients,
                                            const std::vector<torch::Tensor>& rows, int64_t hidden,
                                            const SampledLayer& layer) {
  std::vector<torch::Tensor> parts, z;
  for (size_t type = 0; type < rows.size(); ++type) {
    parts.push_back(rows[type].view({rows[type].size(0), -1, hidden}));
    z.push_back(parts[type].narrow(0, 0, layer.num_destinations[type]).select(1, -1));
  }
  for (const Block& block : layer.blocks) {
    const torch::Tensor& source =
        parts[static_cast<size_t>(TypedSchema().SourceType(block.relation))];
    const auto destination = static_cast<size_t>(TypedSchema().DestinationType(block.relation));
    const torch::Tensor matrix = coefficients.defined()
                                     ? (coefficients[block.relation].view({1, -1, 1}) *
                                        source.narrow(1, 0, source.size(1) - 1))
                                           .sum(1)
                                     : source.select(1, block.relation);
    z[destination] = z[destination] + RelationMean(matrix, block);
  }
  return z;
}

TEST(RgcnOneHotTest, FirstLayerIsTheFormulaOfThePaperForwardAndBackward) {
  for (const int64_t bases : {0, 2, 7}) {
    SCOPED_TRACE(testing::Message() << bases << " bases");
    torch::manual_seed(1);
    const RgcnOptions options = OneHot(bases);
    const ModelShape shape = ShapeOf(options);
    const auto model = MakeRgcn(options, shape);
    const Parameters p = model->named_parameters();
    EXPECT_EQ(p.contains("layers.0.coefficients"), bases > 0);
    EXPECT_FALSE(p.contains("layers.0.self.weight"));
    const std::vector<torch::Tensor> rows = OwnRowsOf(shape);
    const Minibatch minibatch = TypedMinibatch(4);
    const PreparedInput prepared(
        options.NeedsOf({.form = BlockForm::kByRelation, .by_source = BySource::kAll}), minibatch,
        rows, {});
    const auto made = model->Forward({&minibatch, rows, {}});
    const auto given = model->Forward(prepared.input);
    std::vector<torch::Tensor> h =
        PlainOneHotLayer(bases > 0 ? p["layers.0.coefficients"] : torch::Tensor(), rows,
                         options.hidden, minibatch.layers[1]);
    for (torch::Tensor& values : h) values = torch::relu(values);
    const auto wanted =
        PlainLayer(p, "layers.1", bases > 0 ? OfBases : FullMatrix, h, minibatch.layers[0]);
    std::vector<torch::Tensor> leaves = model->parameters();
    leaves.insert(leaves.end(), rows.begin(), rows.end());
    const auto gradients = [&](const std::vector<torch::Tensor>& outputs) {
      return torch::autograd::grad({(outputs[0].sin() * 3).sum() + outputs[1].square().sum()},
                                   leaves);
    };
    for (const size_t type : {0, 1}) {
      EXPECT_TRUE(torch::allclose(made[type], wanted[type], 1e-4, 1e-5)) << type;
      EXPECT_TRUE(torch::equal(made[type], given[type])) << type;
    }
    const auto of_made = gradients(made), of_given = gradients(given), plain = gradients(wanted);
    for (size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_TRUE(torch::allclose(of_made[i], plain[i], 1e-3, 1e-5)) << i;
      EXPECT_TRUE(torch::equal(of_made[i], of_given[i])) << i;
    }
  }
}

TEST(RgcnOneHotTest, AResidualAddsTheRowOfTheNodeItself) {
  torch::manual_seed(2);
  RgcnOptions options = OneHot(2);
  options.dropout = 0;
  const ModelShape shape = ShapeOf(options);
  const auto embedded = [&](bool residual) {
    torch::manual_seed(3);
    options.residual = residual;
    const auto model = MakeRgcn(options, shape);
    EXPECT_EQ(model->parameters().size(), 5U);
    torch::manual_seed(4);
    const std::vector<torch::Tensor> rows = OwnRowsOf(shape);
    const Minibatch minibatch = TypedMinibatch(4);
    const torch::Tensor own = rows[1].narrow(0, 0, 3).narrow(1, 2 * options.hidden, options.hidden);
    return std::pair(model->Embed({&minibatch, rows, {}})[1], own);
  };
  const auto [with, own] = embedded(true);
  EXPECT_TRUE(torch::allclose(with, embedded(false).first + own));
}

TEST(RgcnOneHotTest, RowsAreLearntOfEveryTypeAndBeginAsGlorotsColumns) {
  const auto dims = [](int64_t bases) { return (*OneHot(bases).OwnInputs(TypedSchema()))[0].dim; };
  EXPECT_EQ(dims(0), (5 + 1) * 6) << "a basis a relation";
  EXPECT_EQ(dims(3), (3 + 1) * 6);
  const auto types = *OneHot(3).OwnInputs(TypedSchema());
  ASSERT_EQ(types.size(), 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(types[i].node_type, i);
  // The matrices are of all 200 nodes by 6.
  EXPECT_DOUBLE_EQ(types[2].bound, std::sqrt(6.0 / 206));
  EXPECT_EQ(TensorOf({}, types[2], TypedSchema(), 1).initializer.b, types[2].bound);
  EXPECT_TRUE(RgcnOptions().OwnInputsBy().empty());
  RgcnOptions wide = OneHot(0);
  wide.hidden = 1 << 14;
  EXPECT_THAT(Message(wide.OwnInputs(TypedSchema()).status()),
              testing::AllOf(testing::HasSubstr("98304 in all, and 65536 is the most"),
                             testing::HasSubstr("give --bases or a smaller --hidden")));
}

TEST(RgcnOneHotTest, RowsOfAnotherWidthAreRefused) {
  ModelShape shape = TypedShape();
  shape.input_dims = {12, 12, 12};
  EXPECT_THROW((void)MakeRgcn(OneHot(2), shape), c10::Error);
}

TEST(RgcnOptionsTest, WhatDoesNotFitIsNamed) {
  RgcnOptions options;
  EXPECT_TRUE(options.Validate().ok());
  options.blocks = 7;
  EXPECT_THAT(Message(options.Validate()),
              testing::HasSubstr("--blocks 7 does not divide --hidden"));
  options.blocks = 8;
  EXPECT_TRUE(options.Validate().ok());
  options.bases = 2;
  EXPECT_THAT(Message(options.Validate()), testing::HasSubstr("--bases or --blocks, not both"));
  options.bases = 0;
  options.input = RgcnInput::kFeatureless;
  EXPECT_THAT(Message(options.Validate()),
              testing::HasSubstr("--blocks 8 and --rgcn-input featureless"));
}

}  // namespace
}  // namespace halograph

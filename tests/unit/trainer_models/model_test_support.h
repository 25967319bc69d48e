// Inputs and options for tests of models.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/random_block.h"
#include "trainer/models/model.h"
#include "trainer/pipeline/layer_inputs.h"

namespace halograph {

// One node type, one relation.
inline const Schema& PlainSchema() {
  static const Schema schema = {.graph_name = "plain",
                                .node_types = {{.name = "node", .count = 40, .features = {}}},
                                .relations = {{"node", "edge", "node", 100, {}}},
                                .tasks = {}};
  return schema;
}

// For RandomMinibatch: inputs of 4 columns, 3 outputs.
inline ModelShape SmallShape(int64_t layers = 2) {
  return {.schema = &PlainSchema(), .input_dims = {4}, .layers = layers, .output_dim = 3};
}

// An input as it is prepared for a kind of these needs. `minibatch` must outlive it.
struct PreparedInput {
  PreparedInput(const ModelNeeds& needs, const Minibatch& minibatch, const torch::Tensor& nodes,
                std::optional<uint64_t> draws, Precision precision = Precision::kFloat32)
      : input{&minibatch, {nodes}, draws} {
    if (needs.input_rows == InputRows::kSelfAndMean) GiveSelfAndMean(minibatch, nodes, precision);
    if (!needs.transposed) return;
    transposed = TransposeLayers(PlainSchema(), minibatch);
    input.transposed = &transposed;
  }
  PreparedInput(const PreparedInput&) = delete;
  PreparedInput& operator=(const PreparedInput&) = delete;

  void GiveSelfAndMean(const Minibatch& minibatch, const torch::Tensor& nodes,
                       Precision precision) {
    FeatureMatrix features(nodes.size(0), nodes.size(1));
    std::copy_n(nodes.data_ptr<float>(), nodes.numel(), features.values().data());
    input.nodes = {torch::Tensor()};
    for (const Block& block : minibatch.layers.back().blocks) {
      SelfAndMean made = MakeSelfAndMean(block, features, features, precision, nullptr);
      const int64_t rows = made.rows.rows(), stride = made.rows.cols();
      const auto type = precision == Precision::kBf16 ? torch::kBFloat16 : torch::kFloat32;
      input.self_and_mean.push_back(
          torch::from_blob(made.rows.Release(), {rows, stride}, FeatureMatrix::Free, type)
              .narrow(1, 0, made.cols));
    }
  }

  TransposedLayers transposed;
  ModelInput input;
};

}  // namespace halograph

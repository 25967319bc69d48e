// Inputs and options for tests of models.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
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

// Authors, papers and venues; papers cite papers, and lead to authors and venues.
inline const Schema& TypedSchema() {
  static const Schema schema = {.graph_name = "typed",
                                .node_types = {{.name = "author", .count = 70, .features = {}},
                                               {.name = "paper", .count = 100, .features = {}},
                                               {.name = "venue", .count = 30, .features = {}}},
                                .relations = {{"author", "writes", "paper", 100, {}},
                                              {"paper", "by", "author", 100, {}},
                                              {"paper", "cites", "paper", 100, {}},
                                              {"paper", "in", "venue", 100, {}},
                                              {"venue", "has", "paper", 100, {}}},
                                .tasks = {}};
  return schema;
}

// For TypedMinibatch: inputs of other widths in each type, 3 outputs.
inline ModelShape TypedShape(int64_t layers = 2) {
  return {.schema = &TypedSchema(), .input_dims = {4, 6, 3}, .layers = layers, .output_dim = 3};
}

// Seeds are two authors and three papers. Degrees 0 to 5 by each relation.
inline Minibatch TypedMinibatch(uint64_t key, const Factors& factors = {}) {
  const Schema& schema = TypedSchema();
  const std::vector<int64_t> counts[] = {{2, 3, 0}, {4, 6, 2}, {7, 10, 3}};
  Minibatch minibatch;
  for (int l = 0; l < 2; ++l) {
    SampledLayer layer{{}, counts[l], counts[l + 1]};
    for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
      Block block = RandomBlock(key * 100 + static_cast<uint64_t>(10 * l + r),
                                counts[l][static_cast<size_t>(schema.DestinationType(r))],
                                counts[l + 1][static_cast<size_t>(schema.SourceType(r))], factors);
      block.relation = r;
      layer.blocks.push_back(std::move(block));
    }
    minibatch.layers.push_back(std::move(layer));
  }
  for (const int64_t count : counts[2]) minibatch.nodes.emplace_back(count);
  minibatch.seed_positions = {{1, 0}, {2, 0, 2, 1}};
  return minibatch;
}

// Rows for the nodes of TypedMinibatch.
inline std::vector<torch::Tensor> TypedInputs() {
  return {torch::randn({7, 4}), torch::randn({10, 6}), torch::randn({3, 3})};
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
    GiveBlocks(needs, PlainSchema(), minibatch);
  }
  // Of several node types.
  PreparedInput(const ModelNeeds& needs, const Minibatch& minibatch,
                const std::vector<torch::Tensor>& nodes, std::optional<uint64_t> draws)
      : input{&minibatch, nodes, draws} {
    GiveBlocks(needs, TypedSchema(), minibatch);
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

  void GiveBlocks(const ModelNeeds& needs, const Schema& schema, const Minibatch& minibatch) {
    blocks = *MakeLayerBlocks(schema, minibatch, needs.form, needs.by_source);
    if (!blocks.layers.empty()) input.blocks = &blocks;
  }

  LayerBlocks blocks;
  ModelInput input;
};

}  // namespace halograph

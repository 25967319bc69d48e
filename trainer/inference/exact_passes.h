// The passes over all nodes that exact inference with a model takes: one a layer; and one more in
// front of them where the first layer reads rows that were projected (trainer/models/
// projected_layers.h). A pass reads what the one before kept: what a layer gives, or, where fewer
// columns, what the next layer makes of each row before it aggregates them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "trainer/inference/layer_plan.h"
#include "trainer/models/model.h"

namespace halograph {

enum class ExactRows {
  kOutputs,     // Model::Forward's
  kEmbeddings,  // Model::Embed's
};

struct ExactPass {
  std::optional<size_t> layer = {};  // of the model; null: what comes before the layers
  ExactLayer over = {};              // whose neighbours are read, and which types rows are made of
  InputRows input_rows = InputRows::kNodes;
  LayerReadDims reads = {};  // columns of what it reads of a node
  int64_t makes = 0;         // columns of all that it makes of a node
  std::function<std::vector<torch::Tensor>(const LayerInput& input)> forward = {};
  // What the next pass reads of rows that `forward` gave; of all but the last.
  LayerReadDims keeps = {};
  std::function<LayerReads(const torch::Tensor& rows)> keep = {};

  [[nodiscard]] bool reads_blocks() const { return !over.sampling.layers.front().empty(); }
};

// What the run knows of the inputs of a model.
struct ExactInputs {
  const Schema* schema = nullptr;
  const SamplingSpec* evaluation = nullptr;   // as PlanLayers'
  int64_t dim = 0;                            // columns of the widest node type
  InputRows input_rows = InputRows::kNodes;   // of the first layer
  Precision precision = Precision::kFloat32;  // ModelShape's
};

// In order. `wanted`: of what types the last pass makes rows. The passes use `model`.
[[nodiscard]] std::vector<ExactPass> PlanPasses(Model& model, const ModelNeeds& needs,
                                                const ExactInputs& inputs, ExactRows what,
                                                std::span<const int> wanted);

}  // namespace halograph

#include "trainer/inference/exact_passes.h"

#include <utility>

namespace halograph {
namespace {

LayerReads AsTheyAre(const torch::Tensor& rows) { return {.shared = rows, .own = {}}; }

// Columns of the rows that a layer reads if nothing is projected.
int64_t WidthInto(const Model& model, size_t layer, int64_t input_dim) {
  return layer == 0 ? input_dim : model.layer_dim(layer - 1);
}

// What each layer reads of projected rows, where it does: where these are narrower, and in the
// first layer, for which it takes a pass of its own, only if another layer follows, so that rows
// are made of all nodes anyway.
std::vector<std::optional<LayerReadDims>> ProjectedReads(Model& model, int64_t input_dim,
                                                         ExactRows what) {
  const size_t layers = model.num_layers();
  std::vector<std::optional<LayerReadDims>> reads(layers);
  const ProjectedLayers* const projected = model.projected_layers();
  if (projected == nullptr) return reads;
  for (size_t layer = 0; layer < layers; ++layer) {
    const std::optional<LayerReadDims> dims = projected->ProjectedDims(layer);
    if (!dims.has_value()) continue;
    const bool narrower = dims->total() < WidthInto(model, layer, input_dim);
    const bool taken =
        dims->given ? reads[layer - 1].has_value() : narrower && (layer > 0 || layers > 1);
    if (taken) reads[layer] = dims;
  }
  if (what == ExactRows::kOutputs) return reads;
  // Embeddings are made of rows as they are.
  for (size_t layer = layers; layer-- > 0;) {
    const bool given = reads[layer].has_value() && reads[layer]->given;
    reads[layer].reset();
    if (!given) break;
  }
  return reads;
}

// How a layer's rows come, other than those of the inputs.
InputRows RowsOfKept(const ModelNeeds& needs, const LayerReadDims& reads, bool projected,
                     Precision precision) {
  if (projected) return reads.own > 0 ? InputRows::kSelfAndMean : InputRows::kNodes;
  // Rounded rows of self would not do where a layer adds its input to its output.
  return precision == Precision::kFloat32 ? needs.input_rows : InputRows::kNodes;
}

// Gives a layer's projection its inputs.
ExactPass PassOverInputs(const ExactLayer& first_layer, int64_t input_dim) {
  ExactPass pass{.over = first_layer};
  pass.over.sampling.layers = {{}};
  pass.reads = {.shared = input_dim};
  pass.forward = [](const LayerInput& input) { return input.nodes; };
  return pass;
}

// What the pass before layer `k` keeps for it.
void KeepFor(size_t k, const LayerReadDims& reads, ProjectedLayers* projected, ExactPass* before) {
  before->keeps = reads;
  before->keep = AsTheyAre;
  if (projected == nullptr) return;
  if (reads.given) {
    before->makes = reads.total();
    return;
  }
  before->makes += reads.total();
  before->keep = [k, projected](const torch::Tensor& rows) { return projected->Project(k, rows); };
}

}  // namespace

std::vector<ExactPass> PlanPasses(Model& model, const ModelNeeds& needs, const ExactInputs& inputs,
                                  ExactRows what, std::span<const int> wanted) {
  const bool outputs = what == ExactRows::kOutputs;
  std::vector<ExactLayer> layers = PlanLayers(*inputs.schema, *inputs.evaluation, wanted,
                                              outputs || model.embeds_neighbors(), needs.weights);
  const auto projected_reads = ProjectedReads(model, inputs.dim, what);
  std::vector<ExactPass> passes;
  if (projected_reads.front().has_value()) {
    passes.push_back(PassOverInputs(layers.front(), inputs.dim));
  }
  for (size_t k = 0; k < layers.size(); ++k) {
    const std::optional<LayerReadDims>& of_projected = projected_reads[k];
    ProjectedLayers* const projected =
        of_projected.has_value() ? model.projected_layers() : nullptr;
    ExactPass pass{.layer = k, .over = std::move(layers[k])};
    pass.reads = of_projected.value_or(LayerReadDims{WidthInto(model, k, inputs.dim)});
    pass.makes = model.layer_dim(k);
    if (projected != nullptr) {
      pass.forward = [=](const LayerInput& input) { return projected->ForwardProjected(k, input); };
    } else if (k + 1 == layers.size() && !outputs) {
      pass.forward = [&model](const LayerInput& input) { return model.EmbedLayer(input); };
    } else {
      pass.forward = [&model, k](const LayerInput& input) { return model.ForwardLayer(k, input); };
    }
    if (!passes.empty()) KeepFor(k, pass.reads, projected, &passes.back());
    if (pass.reads_blocks()) {
      pass.input_rows = passes.empty()
                            ? inputs.input_rows
                            : RowsOfKept(needs, pass.reads, projected != nullptr, inputs.precision);
    }
    passes.push_back(std::move(pass));
  }
  return passes;
}

}  // namespace halograph

#include "trainer/models/layered_model.h"

#include "trainer/kernels/linear_layer.h"
#include "trainer/kernels/product_kernel.h"

namespace halograph {
namespace {

// What nodes bring themselves, of the layer's destinations at least.
torch::Tensor OwnRows(const LayerInput& input) {
  if (input.self_and_mean.empty()) return input.nodes.front();
  const torch::Tensor& rows = input.self_and_mean.front();
  return rows.narrow(1, 0, rows.size(1) / 2);
}

}  // namespace

LayerPlace PlaceOf(size_t layer, const LayerInput& input) {
  const LayerBlocks::Layer* const made = input.made;
  const bool looped = made != nullptr && !made->looped.empty();
  LayerPlace place{
      .layer = layer, .block = {.block = &input.layer->blocks.front()}, .draws = input.draws};
  if (input.outer != nullptr) place.outer.block = &input.outer->blocks.front();
  if (looped) place.looped.block = &made->looped.front();
  BlockRef& asked = looped ? place.looped : place.block;
  if (made != nullptr && !made->transposed.empty()) asked.by_source = &made->transposed.front();
  if (input.on_device != nullptr) asked.on_device = &input.on_device->blocks.front();
  if (input.outer_on_device != nullptr) {
    place.outer.on_device = &input.outer_on_device->blocks.front();
  }
  return place;
}

LayeredModel::LayeredModel(const LayerOptions& options, const ModelShape& shape,
                           Activation activation)
    : input_dropout_(options.input_dropout),
      precision_(shape.precision),
      dims_(static_cast<size_t>(shape.layers), options.hidden),
      hidden_(register_module("hidden", torch::nn::ModuleList())) {
  dims_.front() = shape.input_dims.front();
  dims_.push_back(shape.output_dim);
  for (size_t k = 0; !last(k); ++k) {
    hidden_->push_back(HiddenLayer(options, activation, precision_, InDim(k), OutDim(k), k));
  }
}

std::vector<torch::Tensor> LayeredModel::ForwardLayer(size_t layer, const LayerInput& input) {
  torch::Tensor h = OwnRows(input);
  if (layer == 0) {
    const Dropout of_inputs = Dropout::Of(input_dropout_, input.draws, kInputDraws);
    if (of_inputs.dropped > 0) h = Drop(h.to(torch::kFloat32), of_inputs);
  }
  const bool for_next = input.for_next_layer && input.on_device == nullptr;
  const auto formula = [&](LayerOutput output) {
    if (for_next) output.precision = PrecisionForNext(layer);
    return input.self_and_mean.empty() ? Layer(h, PlaceOf(layer, input), output)
                                       : LayerOfRows(input.self_and_mean.front(), layer, output);
  };
  return {Around(formula, layer, h, input.draws)};
}

torch::Tensor LayeredModel::Around(const Formula& formula, size_t layer, const torch::Tensor& own,
                                   const std::optional<uint64_t>& draws) {
  if (last(layer)) return formula({});
  auto& hidden = *hidden_[layer]->as<HiddenLayer>();
  const torch::Tensor made = formula(hidden.OfFormula(draws));
  return hidden.Finish(made, ReadsOwn(layer) ? own.narrow(0, 0, made.size(0)) : torch::Tensor(),
                       draws);
}

bool LayeredModel::ReadsOwn(size_t layer) const {
  return !last(layer) && hidden_->ptr(layer)->as<HiddenLayer>()->reads_own();
}

Precision LayeredModel::PrecisionForNext(size_t layer) const {
  const bool narrow = precision_ == Precision::kBf16 && ProductKernelInUse().has_pairs() &&
                      passes_narrow() && !last(layer) && !ReadsOwn(layer + 1) &&
                      hidden_->ptr(layer)->as<HiddenLayer>()->formula_is_all();
  return narrow ? Precision::kBf16 : Precision::kFloat32;
}

std::vector<torch::Tensor> LayeredModel::EmbedLayer(const LayerInput& input) {
  const int64_t seeds = input.layer->num_destinations.front();
  return {OwnRows(input).narrow(0, 0, seeds).to(torch::kFloat32)};
}

torch::Tensor LayeredModel::LayerOfRows(const torch::Tensor& /*self_and_mean*/, size_t /*layer*/,
                                        const LayerOutput& /*output*/) {
  TORCH_CHECK(false, "this model was given rows of self and mean, for which it did not ask");
}

std::optional<LayerReadDims> ProjectedLayeredModel::ProjectedDims(size_t layer) const {
  if (ReadsOwn(layer)) return std::nullopt;
  return FormulaDims(layer);
}

std::vector<torch::Tensor> ProjectedLayeredModel::ForwardProjected(size_t layer,
                                                                   const LayerInput& input) {
  const torch::Tensor& rows =
      input.self_and_mean.empty() ? input.nodes.front() : input.self_and_mean.front();
  const auto formula = [&](const LayerOutput& output) {
    return LayerOfProjected(rows, PlaceOf(layer, input), output);
  };
  return {Around(formula, layer, torch::Tensor(), input.draws)};
}

}  // namespace halograph

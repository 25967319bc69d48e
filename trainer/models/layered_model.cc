#include "trainer/models/layered_model.h"

#include "trainer/kernels/linear_layer.h"

namespace halograph {

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

std::vector<torch::Tensor> LayeredModel::Forward(const ModelInput& input) {
  return {Layers(num_layers(), input)};
}

std::vector<torch::Tensor> LayeredModel::Embed(const ModelInput& input) {
  const Block& at_seeds = input.minibatch->layers.front().blocks.front();
  const auto seeds = static_cast<int64_t>(at_seeds.indptr.size()) - 1;
  const size_t before_last = num_layers() - 1;
  const torch::Tensor read = before_last > 0 ? Layers(before_last, input) : OwnInputs(input);
  return {read.narrow(0, 0, seeds).to(torch::kFloat32)};
}

torch::Tensor LayeredModel::Layers(size_t count, const ModelInput& input) {
  const bool rows_made = !input.self_and_mean.empty();
  torch::Tensor h = OwnInputs(input);
  const Dropout of_inputs = Dropout::Of(input_dropout_, input.draws, kInputDraws);
  if (of_inputs.dropped > 0) h = Drop(h.to(torch::kFloat32), of_inputs);
  for (size_t k = 0; k < count; ++k) {
    const LayerPlace at = PlaceOf(k, input);
    auto* const hidden = last(k) ? nullptr : hidden_[k]->as<HiddenLayer>();
    const LayerOutput output = hidden == nullptr ? LayerOutput{} : hidden->OfFormula(input.draws);
    const torch::Tensor own = h.narrow(0, 0, at.num_destinations());
    h = k == 0 && rows_made ? LayerOfRows(input.self_and_mean.front(), output)
                            : Layer(h, at, output);
    if (hidden != nullptr) h = hidden->Finish(h, own, input.draws);
  }
  return h;
}

torch::Tensor LayeredModel::LayerOfRows(const torch::Tensor& /*self_and_mean*/,
                                        const LayerOutput& /*output*/) {
  TORCH_CHECK(false, "this model was given rows of self and mean, for which it did not ask");
}

torch::Tensor LayeredModel::OwnInputs(const ModelInput& input) const {
  if (input.self_and_mean.empty()) return input.nodes.front();
  const torch::Tensor& rows = input.self_and_mean.front();
  return rows.narrow(1, 0, rows.size(1) / 2);
}

LayerPlace LayeredModel::PlaceOf(size_t layer, const ModelInput& input) const {
  const std::vector<SampledLayer>& layers = input.minibatch->layers;
  const size_t at = num_layers() - 1 - layer;
  const LayerBlocks::Layer* const made =
      input.blocks == nullptr ? nullptr : &input.blocks->layers[at];
  const bool given = made != nullptr && !made->transposed.empty();
  return {.layer = layer,
          .block = &layers[at].blocks.front(),
          .outer = layer == 0 ? nullptr : &layers[at + 1].blocks.front(),
          .looped = made == nullptr || made->looped.empty() ? nullptr : &made->looped.front(),
          .by_source = given ? &made->transposed.front() : nullptr,
          .draws = input.draws};
}

}  // namespace halograph

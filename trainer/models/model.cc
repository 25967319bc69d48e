#include "trainer/models/model.h"

#include <utility>

namespace halograph {
namespace {

// Of one of so many layers, without rows.
LayerInput PlaceOf(size_t layer, size_t num_layers, const ModelInput& input) {
  const std::vector<SampledLayer>& layers = input.minibatch->layers;
  const size_t at = num_layers - 1 - layer;
  LayerInput place{.layer = &layers[at], .draws = input.draws};
  if (layer > 0) place.outer = &layers[at + 1];
  if (input.blocks != nullptr) place.made = &input.blocks->layers[at];
  if (input.on_device == nullptr) return place;
  place.on_device = &(*input.on_device)[at];
  if (layer > 0) place.outer_on_device = &(*input.on_device)[at + 1];
  return place;
}

}  // namespace

LayerInput Model::InputOfLast(const ModelInput& input) {
  LayerInput at = PlaceOf(0, num_layers(), input);
  at.nodes = input.nodes;
  at.self_and_mean = input.self_and_mean;
  for (size_t layer = 1; layer < num_layers(); ++layer) {
    at.for_next_layer = true;
    std::vector<torch::Tensor> rows = ForwardLayer(layer - 1, at);
    at = PlaceOf(layer, num_layers(), input);
    at.nodes = std::move(rows);
  }
  return at;
}

std::vector<torch::Tensor> Model::Forward(const ModelInput& input) {
  return ForwardLayer(num_layers() - 1, InputOfLast(input));
}

std::vector<torch::Tensor> Model::Embed(const ModelInput& input) {
  return EmbedLayer(InputOfLast(input));
}

}  // namespace halograph

// Multiplying before aggregating. Where the aggregation of a layer is linear, W mean(h_u) is
// mean(W h_u), and the same goes for sums with weights. So the layer can read rows that its weights
// were multiplied with before, once a node, and each edge then reads as many columns as the layer
// gives, rather than as many as it takes in. Who makes the rows of all nodes before any edge reads
// them gains by it where these are fewer (trainer/inference); a minibatch, whose rows are read a
// few times each, does not. A kind of model offers it by Model::projected_layers.
//
// In evaluation alone: nothing is left out, and nothing gets a gradient.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/torch/torch_api.h"

namespace halograph {

struct LayerInput;  // model.h

// What a layer reads of nodes.
struct LayerReads {
  torch::Tensor shared;  // [nodes, columns]: read along each edge
  torch::Tensor own;     // [nodes, columns]: of the destinations alone; no tensor: `shared` again
};

// Columns of the two.
struct LayerReadDims {
  int64_t shared = 0;
  int64_t own = 0;  // 0: no tensor
  // What ForwardProjected of the layer before gives is projected already: such a layer reads
  // projected rows if that one does, or else neither, and has no Project.
  bool given = false;

  [[nodiscard]] int64_t total() const { return shared + own; }
};

// As Model, not thread-safe; functions throw as libtorch does. Of one node type.
class ProjectedLayers {
 public:
  virtual ~ProjectedLayers() = default;

  // What layer `layer`, from the inputs on, reads of projected rows; nullopt where it must have
  // rows as they are.
  [[nodiscard]] virtual std::optional<LayerReadDims> ProjectedDims(size_t layer) const = 0;
  // `h`: rows as ForwardLayer(layer) reads them. Each row is projected by itself.
  [[nodiscard]] virtual LayerReads Project(size_t layer, const torch::Tensor& h) = 0;
  // As Model::ForwardLayer within float rounding, of projected rows: `shared` as
  // LayerInput::nodes; or, where there is `own`, rows [own, mean of the sources' shared] as
  // LayerInput::self_and_mean.
  [[nodiscard]] virtual std::vector<torch::Tensor> ForwardProjected(size_t layer,
                                                                    const LayerInput& input) = 0;
};

}  // namespace halograph

// What a graph neural network is to the rest of the trainer: from a minibatch and the inputs of its
// nodes to one row for every node that the minibatch is about. A model is one file here, registered
// by a line in registry.cc.
//
// What a model must know of the run it is given when it is made (ModelShape), what it must be told
// by the user it names itself (ModelOptions), what the graph must have and in what form it likes
// its inputs it states (ModelNeeds).
//
// How kinds of models fit:
//   GraphSAGE, GCN, GAT         blocks of one relation, one a layer: the formula of a layer is all
//                               that they add to layered_model.h. Kernels over blocks are autograd
//                               Functions (trainer/kernels), which keep what they need
//   SGC                         a step of propagation a layer of the minibatch, one linear layer
//   R-GCN                       one block a relation and layer: Block::relation says which, the
//                               schema which types it goes between
//   embeddings as inputs        `nodes` holds whatever rows the run has for a type, features or
//                               embeddings; who learns embeddings asks for the gradient of the
//                               tensor that it put there. Models see no difference, but may say
//                               that each node has a row of a width of theirs
//                               (ModelOptions::OwnInputs)
//   link prediction             outputs are of unique nodes, by node type; the task joins the rows
//                               of an edge's ends, so models know neither edges nor negatives
//   multi-label, regression     the task says how many columns it wants and what they mean
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/sampling/minibatch.h"
#include "trainer/models/layer_on_device.h"
#include "trainer/models/projected_layers.h"
#include "trainer/models/registry.h"
#include "trainer/pipeline/layer_blocks.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

struct ModelInput {
  // Layer 0 is at the seeds: a model begins with the last one. Must live until backward is done.
  const Minibatch* minibatch = nullptr;
  // Per node type: rows of minibatch->nodes[type], contiguous, on one device for all; float32, or,
  // with ModelShape::precision kBf16, bfloat16 where they get no gradient; not defined for types
  // that the run has no inputs for (ModelShape::input_dims is 0), nor where self_and_mean stands
  // in.
  std::vector<torch::Tensor> nodes;
  // The key of dropout and of all else that is drawn (kernels/dropout.h), made of run, epoch, step
  // and rank: nothing is drawn from anywhere else. None in evaluation: draw nothing.
  std::optional<uint64_t> draws;
  // Given to kinds whose needs ask for it: per block of the minibatch's last layer the rows of
  // SelfAndMean (pipeline/layer_inputs.h), [destinations, columns of destination and source type],
  // rows further apart than long, of the dtype of `nodes`. Empty: `nodes` are given. A kind that
  // asks must take either, as inputs that are learnt, and other devices, come as `nodes`.
  std::vector<torch::Tensor> self_and_mean = {};
  // Likewise, in the form that the needs say; by source in training alone. Must live until backward
  // is done. Null: the model makes its own, and so does backward of what is missing by source.
  const LayerBlocks* blocks = nullptr;
  // Where `nodes` are on a device: the blocks there, by the minibatch's layers. Must live until
  // backward is done. Else null.
  const std::vector<LayerOnDevice>* on_device = nullptr;
};

// What one layer of a model reads: one layer of a minibatch, or of a chunk of all nodes
// (trainer/inference), whose destinations are the first sources of their type. Must live until
// backward is done.
struct LayerInput {
  const SampledLayer* layer = nullptr;
  // A layer whose destinations are the sources of `layer`: of it no more than the number of
  // in-edges of each is looked at. Null where it is not known.
  const SampledLayer* outer = nullptr;
  // Per node type, a row a source: in layer 0 as ModelInput::nodes, else as the layer before gave
  // them.
  std::vector<torch::Tensor> nodes = {};
  // As ModelInput's, of this layer: in any layer of kinds that ask for it.
  std::vector<torch::Tensor> self_and_mean = {};
  const LayerBlocks::Layer* made = nullptr;  // of ModelInput::blocks; or null
  std::optional<uint64_t> draws = {};
  // Whether nobody but the model's next layer, or EmbedLayer, reads what this one gives: it may be
  // of bfloat16 then (ModelShape::precision).
  bool for_next_layer = false;
  // `layer` and `outer` (indptr will do, int64 too) where `nodes` are on a device; else null.
  const LayerOnDevice* on_device = nullptr;
  const LayerOnDevice* outer_on_device = nullptr;
};

// Not thread-safe. Parameters are float32, registered as libtorch's modules do, all made by the
// constructor from libtorch's default generator: their order and names are what checkpoints hold.
// Buffers are float32; before an evaluation ranks take the mean of theirs, weighed by the rows that
// each module has seen (trainer/torch/rows_seen.h), and the best epoch's are kept with its weights.
//
// A kind gives the formula of one layer, from which both a minibatch's way through the model
// (Forward, Embed) and exact inference over a whole graph (trainer/inference) are made.
class Model : public torch::nn::Module {
 public:
  // Per node type [unique seeds, ModelShape::output_dim], float32, row i for
  // minibatch->nodes[type][i]; the unique seeds of a type are the destinations of layer 0. Not
  // defined for types without seeds. train() and eval() are called as libtorch's conventions have
  // it. Throws as libtorch does.
  [[nodiscard]] std::vector<torch::Tensor> Forward(const ModelInput& input);

  // Embeddings: what the last layer reads of each unique seed itself, [unique seeds,
  // embedding_dim()], otherwise as Forward.
  [[nodiscard]] std::vector<torch::Tensor> Embed(const ModelInput& input);
  [[nodiscard]] virtual int64_t embedding_dim() const = 0;

  // Whether weights have a part in the output rows of a node type.
  [[nodiscard]] virtual bool HasWeightsOf(int /*type*/) const { return true; }

  // One at least. Minibatches have as many, or more where a kind reads no neighbours.
  [[nodiscard]] virtual size_t num_layers() const = 0;
  // Columns of what ForwardLayer gives, of every node type alike.
  [[nodiscard]] virtual int64_t layer_dim(size_t layer) const = 0;
  // Layer `layer`, from the inputs on: per node type [destinations, layer_dim(layer)], float32, but
  // for LayerInput::for_next_layer; not defined for types without destinations. Throws as libtorch
  // does.
  [[nodiscard]] virtual std::vector<torch::Tensor> ForwardLayer(size_t layer,
                                                                const LayerInput& input) = 0;
  // What Embed gives, of what the last layer is given.
  [[nodiscard]] virtual std::vector<torch::Tensor> EmbedLayer(const LayerInput& input) = 0;
  // Whether EmbedLayer reads blocks; else a layer without any will do.
  [[nodiscard]] virtual bool embeds_neighbors() const { return false; }
  // The layers as they read projected rows, which live as long as this; null: this kind has none.
  [[nodiscard]] virtual ProjectedLayers* projected_layers() { return nullptr; }

 private:
  // What the last layer reads.
  [[nodiscard]] LayerInput InputOfLast(const ModelInput& input);
};

}  // namespace halograph

// A model of as many layers as the minibatch has, each over the blocks of one relation. Who derives
// from it gives the formula of one layer; inputs, dropout, what comes around hidden layers
// (hidden_layer.h) and embeddings are here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/models/hidden_layer.h"
#include "trainer/models/model.h"

namespace halograph {

// What a layer runs over.
struct LayerPlace {
  size_t layer = 0;  // of the model, from the inputs on
  const Block* block = nullptr;
  const Block* outer = nullptr;                // whose destinations are this block's sources; null
                                               // in layer 0
  const Block* looped = nullptr;               // BlockForm::kSelfLoops; null: not made
  const TransposedBlock* by_source = nullptr;  // of the block, or of `looped`; or null
  std::optional<uint64_t> draws;               // ModelInput's

  [[nodiscard]] int64_t num_destinations() const {
    return static_cast<int64_t>(block->indptr.size()) - 1;
  }
};

class LayeredModel : public Model {
 public:
  LayeredModel(const LayerOptions& options, const ModelShape& shape, Activation activation);

  std::vector<torch::Tensor> Forward(const ModelInput& input) override;
  std::vector<torch::Tensor> Embed(const ModelInput& input) override;
  int64_t embedding_dim() const override { return InDim(num_layers() - 1); }

 protected:
  // The formula of one layer. `h`: [sources, InDim(layer)], contiguous, its first rows the
  // destinations'; float32, or in layer 0 as ModelInput::nodes. Returns [destinations,
  // OutDim(layer)], finished as `output` says.
  [[nodiscard]] virtual torch::Tensor Layer(const torch::Tensor& h, const LayerPlace& at,
                                            const LayerOutput& output) = 0;
  // Layer 0 out of ModelInput::self_and_mean. For kinds that ask for it.
  [[nodiscard]] virtual torch::Tensor LayerOfRows(const torch::Tensor& self_and_mean,
                                                  const LayerOutput& output);

  [[nodiscard]] size_t num_layers() const { return dims_.size() - 1; }
  [[nodiscard]] bool last(size_t layer) const { return layer + 1 == num_layers(); }
  [[nodiscard]] int64_t InDim(size_t layer) const { return dims_[layer]; }
  [[nodiscard]] int64_t OutDim(size_t layer) const { return dims_[layer + 1]; }
  [[nodiscard]] Precision precision() const { return precision_; }

 private:
  // The output of the first `count` layers, one at least.
  torch::Tensor Layers(size_t count, const ModelInput& input);
  // What nodes bring themselves, of the first layer's destinations at least.
  torch::Tensor OwnInputs(const ModelInput& input) const;
  LayerPlace PlaceOf(size_t layer, const ModelInput& input) const;

  const double input_dropout_;
  const Precision precision_;
  std::vector<int64_t> dims_;
  torch::nn::ModuleList hidden_;  // HiddenLayer, one a layer but the last
};

}  // namespace halograph

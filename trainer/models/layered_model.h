// A model of as many layers as the minibatch has, each over the blocks of one relation. Who derives
// from it gives the formula of one layer; inputs, dropout, what comes around hidden layers
// (hidden_layer.h) and embeddings are here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "trainer/kernels/block_on_device.h"
#include "trainer/models/hidden_layer.h"
#include "trainer/models/model.h"

namespace halograph {

// What a layer runs over.
struct LayerPlace {
  size_t layer = 0;               // of the model, from the inputs on
  BlockRef block;                 // its by_source is null where `looped` is made
  BlockRef outer = {};            // LayerInput's; or none
  BlockRef looped = {};           // BlockForm::kSelfLoops; none: not made
  std::optional<uint64_t> draws;  // ModelInput's

  [[nodiscard]] int64_t num_destinations() const {
    return static_cast<int64_t>(block.block->indptr.size()) - 1;
  }
};

[[nodiscard]] LayerPlace PlaceOf(size_t layer, const LayerInput& input);

class LayeredModel : public Model {
 public:
  LayeredModel(const LayerOptions& options, const ModelShape& shape, Activation activation);

  std::vector<torch::Tensor> ForwardLayer(size_t layer, const LayerInput& input) override;
  std::vector<torch::Tensor> EmbedLayer(const LayerInput& input) override;
  int64_t embedding_dim() const override { return InDim(num_layers() - 1); }
  size_t num_layers() const override { return dims_.size() - 1; }
  int64_t layer_dim(size_t layer) const override { return OutDim(layer); }

 protected:
  // The formula of one layer. `h`: [sources, InDim(layer)], contiguous, its first rows the
  // destinations'; float32, or in layer 0 as ModelInput::nodes, or bfloat16 where it
  // passes_narrow(). Returns [destinations, OutDim(layer)], finished as `output` says.
  [[nodiscard]] virtual torch::Tensor Layer(const torch::Tensor& h, const LayerPlace& at,
                                            const LayerOutput& output) = 0;
  // The same out of LayerInput::self_and_mean. For kinds that ask for it.
  [[nodiscard]] virtual torch::Tensor LayerOfRows(const torch::Tensor& self_and_mean, size_t layer,
                                                  const LayerOutput& output);

  // Whether formulas give rows, and read them with a gradient, of bfloat16 too: those that begin
  // with a sum over neighbours, which waits for the memory that rows are read from. The others
  // begin with a product, which rounds its rows itself, and rows of half the size would save
  // about 5 % of a step at most, as in R-GCN, which is no LayeredModel (docs/performance.md).
  [[nodiscard]] virtual bool passes_narrow() const { return false; }

  // A layer: what `formula` gives, and around it what hidden layers do. `own`: what the layer reads
  // of its destinations themselves, in its first rows; looked at only if ReadsOwn(layer).
  using Formula = std::function<torch::Tensor(const LayerOutput& output)>;
  [[nodiscard]] torch::Tensor Around(const Formula& formula, size_t layer, const torch::Tensor& own,
                                     const std::optional<uint64_t>& draws);
  [[nodiscard]] bool ReadsOwn(size_t layer) const;
  // Of what the formula of a layer gives, on the CPU, if only the next layer reads it: bfloat16
  // where that makes products of pairs.
  [[nodiscard]] Precision PrecisionForNext(size_t layer) const;

  [[nodiscard]] bool last(size_t layer) const { return layer + 1 == num_layers(); }
  [[nodiscard]] int64_t InDim(size_t layer) const { return dims_[layer]; }
  [[nodiscard]] int64_t OutDim(size_t layer) const { return dims_[layer + 1]; }
  [[nodiscard]] Precision precision() const { return precision_; }

 private:
  const double input_dropout_;
  const Precision precision_;
  std::vector<int64_t> dims_;
  torch::nn::ModuleList hidden_;  // HiddenLayer, one a layer but the last
};

// One whose formula has a projected form, but in hidden layers that read the node's own row
// besides. Who derives from it gives Project too.
class ProjectedLayeredModel : public LayeredModel, public ProjectedLayers {
 public:
  using LayeredModel::LayeredModel;

  ProjectedLayers* projected_layers() override { return this; }
  std::optional<LayerReadDims> ProjectedDims(size_t layer) const override;
  std::vector<torch::Tensor> ForwardProjected(size_t layer, const LayerInput& input) override;

 protected:
  // What Project gives of any layer.
  [[nodiscard]] virtual LayerReadDims FormulaDims(size_t layer) const = 0;
  // The rest of the formula. `rows`: `shared` of the sources, or, where there is `own`, [own, mean
  // of the sources' shared], rows further apart than long.
  [[nodiscard]] virtual torch::Tensor LayerOfProjected(const torch::Tensor& rows,
                                                       const LayerPlace& at,
                                                       const LayerOutput& output) = 0;
};

}  // namespace halograph

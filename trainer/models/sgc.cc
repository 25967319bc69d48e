#include "trainer/models/sgc.h"

#include "trainer/kernels/finish_rows.h"
#include "trainer/kernels/linear_layer.h"
#include "trainer/kernels/normalized_sum.h"
#include "trainer/models/layered_model.h"
#include "trainer/models/model.h"

namespace halograph {
namespace {

class Sgc final : public Model, public ProjectedLayers {
 public:
  Sgc(const SgcOptions& options, const ModelShape& shape)
      : input_dropout_(options.input_dropout),
        precision_(shape.precision),
        num_layers_(static_cast<size_t>(shape.layers)),
        linear_(register_module("linear",
                                torch::nn::Linear(shape.input_dims.front(), shape.output_dim))) {}

  std::vector<torch::Tensor> ForwardLayer(size_t layer, const LayerInput& input) override {
    const torch::Tensor h = Propagated(layer, input);
    if (!last(layer)) return {h};
    return {LinearLayer(h, linear_->weight, linear_->bias, {}, precision_)};
  }
  // What the linear layer reads.
  std::vector<torch::Tensor> EmbedLayer(const LayerInput& input) override {
    return {Propagated(num_layers_ - 1, input).contiguous()};
  }
  int64_t embedding_dim() const override { return linear_->weight.size(1); }
  bool embeds_neighbors() const override { return true; }
  size_t num_layers() const override { return num_layers_; }
  int64_t layer_dim(size_t layer) const override {
    return linear_->weight.size(last(layer) ? 0 : 1);
  }

  // W x at the inputs is for all steps: they propagate what it gives.
  ProjectedLayers* projected_layers() override { return this; }
  std::optional<LayerReadDims> ProjectedDims(size_t layer) const override {
    return LayerReadDims{.shared = linear_->weight.size(0), .given = layer > 0};
  }
  LayerReads Project(size_t /*layer*/, const torch::Tensor& x) override {
    return {.shared = LinearLayer(x, linear_->weight, torch::Tensor(), {}, precision_), .own = {}};
  }
  std::vector<torch::Tensor> ForwardProjected(size_t layer, const LayerInput& input) override {
    const torch::Tensor rows = Propagated(layer, input);
    if (!last(layer)) return {rows};
    return {FinishRows(rows.contiguous(), linear_->bias, {})};
  }

 private:
  [[nodiscard]] bool last(size_t layer) const { return layer + 1 == num_layers_; }
  // One step of propagation.
  torch::Tensor Propagated(size_t layer, const LayerInput& input) const {
    torch::Tensor h = input.nodes.front();
    const Dropout of_inputs = Dropout::Of(input_dropout_, input.draws, kInputDraws);
    if (layer == 0 && of_inputs.dropped > 0) h = Drop(h.to(torch::kFloat32), of_inputs);
    const LayerPlace at = PlaceOf(layer, input);
    return NormalizedByDegree(h, at.block, at.outer);
  }

  const double input_dropout_;
  const Precision precision_;
  const size_t num_layers_;
  torch::nn::Linear linear_;
};

}  // namespace

std::shared_ptr<Model> MakeSgc(const SgcOptions& options, const ModelShape& shape) {
  return std::make_shared<Sgc>(options, shape);
}

}  // namespace halograph

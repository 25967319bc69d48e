#include "trainer/models/sage.h"

#include "trainer/kernels/sage_layer.h"
#include "trainer/models/model.h"

namespace halograph {
namespace {

// The parameters of one hop.
class SageHopImpl : public torch::nn::Module {
 public:
  SageHopImpl(int64_t in_dim, int64_t out_dim)
      : self_(register_module("self", torch::nn::Linear(in_dim, out_dim))),
        neighbor_(register_module(
            "neighbor", torch::nn::Linear(torch::nn::LinearOptions(in_dim, out_dim).bias(false)))) {
  }

  [[nodiscard]] SageWeights weights() const {
    return {self_->weight, neighbor_->weight, self_->bias};
  }

 private:
  torch::nn::Linear self_{nullptr};
  torch::nn::Linear neighbor_{nullptr};
};
TORCH_MODULE(SageHop);

class Sage final : public Model {
 public:
  Sage(const SageOptions& options, const ModelShape& shape)
      : dropout_(options.dropout),
        precision_(shape.precision),
        embedding_dim_(shape.layers == 1 ? shape.input_dims.front() : options.hidden),
        layers_(register_module("layers", torch::nn::ModuleList())) {
    for (int64_t k = 0; k < shape.layers; ++k) {
      const bool last = k + 1 == shape.layers;
      layers_->push_back(SageHop(k == 0 ? shape.input_dims.front() : options.hidden,
                                 last ? shape.output_dim : options.hidden));
    }
  }

  std::vector<torch::Tensor> Forward(const ModelInput& input) override {
    return {Layers(layers_->size(), input)};
  }

  std::vector<torch::Tensor> Embed(const ModelInput& input) override {
    const Block& at_seeds = input.minibatch->layers.front().blocks.front();
    const auto seeds = static_cast<int64_t>(at_seeds.indptr.size()) - 1;
    const size_t before_last = layers_->size() - 1;
    const torch::Tensor read = before_last > 0 ? Layers(before_last, input) : OwnInputs(input);
    return {read.narrow(0, 0, seeds).to(torch::kFloat32)};
  }
  int64_t embedding_dim() const override { return embedding_dim_; }

 private:
  // The output of the first `count` layers, one at least.
  torch::Tensor Layers(size_t count, const ModelInput& input) {
    torch::Tensor h = First(input);
    for (size_t k = 1; k < count; ++k) h = Layer(k, h, input);
    return h;
  }
  // What nodes bring to the first layer themselves, of its destinations at least.
  torch::Tensor OwnInputs(const ModelInput& input) const {
    if (input.self_and_mean.empty()) return input.nodes.front();
    const torch::Tensor& rows = input.self_and_mean.front();
    return rows.narrow(1, 0, rows.size(1) / 2);
  }
  torch::Tensor First(const ModelInput& input) {
    if (input.self_and_mean.empty()) return Layer(0, input.nodes.front(), input);
    return SageLayerOfRows(input.self_and_mean.front(), Weights(0), Output(0, input));
  }
  torch::Tensor Layer(size_t k, const torch::Tensor& h, const ModelInput& input) {
    const size_t at = layers_->size() - 1 - k;
    const bool given = input.transposed != nullptr && !(*input.transposed)[at].empty();
    const TransposedBlock* const by_source = given ? &(*input.transposed)[at].front() : nullptr;
    return SageLayer(h, input.minibatch->layers[at].blocks.front(), by_source, Weights(k),
                     Output(k, input), precision_);
  }

  SageWeights Weights(size_t k) { return layers_[k]->as<SageHop>()->weights(); }
  LayerOutput Output(size_t k, const ModelInput& input) const {
    if (k + 1 == layers_->size()) return {};
    return {.relu = true, .dropout = Dropout::Of(dropout_, input.draws, k)};
  }

  const double dropout_;
  const Precision precision_;
  const int64_t embedding_dim_;
  torch::nn::ModuleList layers_;
};

}  // namespace

std::shared_ptr<Model> MakeSage(const SageOptions& options, const ModelShape& shape) {
  return std::make_shared<Sage>(options, shape);
}

}  // namespace halograph

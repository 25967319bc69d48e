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
        embedding_dim_(shape.layers == 1 ? shape.input_dims.front() : options.hidden),
        layers_(register_module("layers", torch::nn::ModuleList())) {
    for (int64_t k = 0; k < shape.layers; ++k) {
      const bool last = k + 1 == shape.layers;
      layers_->push_back(SageHop(k == 0 ? shape.input_dims.front() : options.hidden,
                                 last ? shape.output_dim : options.hidden));
    }
  }

  std::vector<torch::Tensor> Forward(const ModelInput& input) override {
    return {Layer(layers_->size() - 1, BeforeTheLast(input), input)};
  }

  std::vector<torch::Tensor> Embed(const ModelInput& input) override {
    const Block& at_seeds = input.minibatch->layers.front().blocks.front();
    const auto seeds = static_cast<int64_t>(at_seeds.indptr.size()) - 1;
    return {BeforeTheLast(input).narrow(0, 0, seeds)};
  }
  int64_t embedding_dim() const override { return embedding_dim_; }

 private:
  torch::Tensor Layer(size_t k, const torch::Tensor& h, const ModelInput& input) {
    const size_t last = layers_->size() - 1;
    const Block& block = input.minibatch->layers[last - k].blocks.front();
    LayerOutput output = {.relu = k < last};
    if (output.relu) output.dropout = Dropout::Of(dropout_, input.draws, k);
    return SageLayer(h, block, layers_[k]->as<SageHop>()->weights(), output);
  }
  // What the last layer reads, of all sources of its block.
  torch::Tensor BeforeTheLast(const ModelInput& input) {
    torch::Tensor h = input.nodes.front();
    for (size_t k = 0; k + 1 < layers_->size(); ++k) h = Layer(k, h, input);
    return h;
  }

  const double dropout_;
  const int64_t embedding_dim_;
  torch::nn::ModuleList layers_;
};

}  // namespace

std::shared_ptr<Model> MakeSage(const SageOptions& options, const ModelShape& shape) {
  return std::make_shared<Sage>(options, shape);
}

}  // namespace halograph

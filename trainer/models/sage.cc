#include "trainer/models/sage.h"

#include "trainer/kernels/aggregate.h"
#include "trainer/kernels/finish_rows.h"
#include "trainer/kernels/linear_layer.h"
#include "trainer/kernels/sage_layer.h"
#include "trainer/models/layered_model.h"

namespace halograph {
namespace {

// The parameters of one hop.
class SageHopImpl : public torch::nn::Module {
 public:
  SageHopImpl(SageAggregator aggregator, int64_t in_dim, int64_t out_dim)
      : self_(register_module("self", torch::nn::Linear(in_dim, out_dim))),
        neighbor_(register_module(
            "neighbor", torch::nn::Linear(torch::nn::LinearOptions(in_dim, out_dim).bias(false)))) {
    if (aggregator != SageAggregator::kPool) return;
    pool_ = register_module("pool", torch::nn::Linear(in_dim, in_dim));
  }

  [[nodiscard]] SageWeights weights() const {
    return {self_->weight, neighbor_->weight, self_->bias};
  }
  [[nodiscard]] const torch::nn::Linear& pool() const { return pool_; }

 private:
  torch::nn::Linear self_{nullptr};
  torch::nn::Linear neighbor_{nullptr};
  torch::nn::Linear pool_{nullptr};
};
TORCH_MODULE(SageHop);

class Sage final : public ProjectedLayeredModel {
 public:
  Sage(const SageOptions& options, const ModelShape& shape)
      : ProjectedLayeredModel(options, shape, Activation::kRelu),
        aggregator_(options.aggregator),
        layers_(register_module("layers", torch::nn::ModuleList())) {
    for (size_t k = 0; k < num_layers(); ++k) {
      layers_->push_back(SageHop(aggregator_, InDim(k), OutDim(k)));
    }
  }

  // What is pooled is no linear function of the rows.
  ProjectedLayers* projected_layers() override {
    return aggregator_ == SageAggregator::kMean ? this : nullptr;
  }
  // W_neigh h, W_self h, by one product.
  LayerReads Project(size_t k, const torch::Tensor& h) override {
    const SageWeights weights = hop(k).weights();
    const torch::Tensor both = LinearLayer(h, torch::cat({weights.neighbor, weights.self}),
                                           torch::Tensor(), {}, precision());
    return {.shared = both.narrow(1, 0, OutDim(k)), .own = both.narrow(1, OutDim(k), OutDim(k))};
  }

 private:
  torch::Tensor Layer(const torch::Tensor& h, const LayerPlace& at,
                      const LayerOutput& output) override {
    if (aggregator_ == SageAggregator::kPool) return PoolLayer(h, at, output);
    return SageLayer(h, at.block, hop(at.layer).weights(), output, precision());
  }
  torch::Tensor LayerOfRows(const torch::Tensor& rows, size_t layer,
                            const LayerOutput& output) override {
    return SageLayerOfRows(rows, hop(layer).weights(), output);
  }
  bool passes_narrow() const override { return aggregator_ == SageAggregator::kMean; }
  LayerReadDims FormulaDims(size_t k) const override {
    return {.shared = OutDim(k), .own = OutDim(k)};
  }
  // ReLU(W_self h_v + mean of W_neigh h_u + b)
  torch::Tensor LayerOfProjected(const torch::Tensor& rows, const LayerPlace& at,
                                 const LayerOutput& output) override {
    const int64_t out = OutDim(at.layer);
    return FinishRows(rows.narrow(1, 0, out) + rows.narrow(1, out, out),
                      hop(at.layer).weights().bias, output);
  }

  torch::Tensor PoolLayer(const torch::Tensor& h, const LayerPlace& at, const LayerOutput& output) {
    const SageWeights weights = hop(at.layer).weights();
    const torch::nn::Linear& pool = hop(at.layer).pool();
    const torch::Tensor pooled =
        LinearLayer(h, pool->weight, pool->bias, {.relu = true, .dropout = {}}, precision());
    const torch::Tensor largest = Aggregate(pooled, at.block, Aggregation::kMax);
    const torch::Tensor self = h.narrow(0, 0, at.num_destinations()).to(torch::kFloat32);
    return LinearLayer(torch::cat({self, largest}, 1),
                       torch::cat({weights.self, weights.neighbor}, 1), weights.bias, output,
                       precision());
  }

  SageHopImpl& hop(size_t k) { return *layers_[k]->as<SageHop>(); }

  const SageAggregator aggregator_;
  torch::nn::ModuleList layers_;
};

}  // namespace

std::shared_ptr<Model> MakeSage(const SageOptions& options, const ModelShape& shape) {
  return std::make_shared<Sage>(options, shape);
}

}  // namespace halograph

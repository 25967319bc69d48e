#include "trainer/models/sage.h"

#include "trainer/models/mean_aggregate.h"

namespace halograph {

SageLayerImpl::SageLayerImpl(int64_t in_dim, int64_t out_dim)
    : self_(register_module("self", torch::nn::Linear(in_dim, out_dim))),
      neighbor_(register_module(
          "neighbor", torch::nn::Linear(torch::nn::LinearOptions(in_dim, out_dim).bias(false)))) {}

torch::Tensor SageLayerImpl::forward(const torch::Tensor& h, const Block& block) {
  const auto num_destinations = static_cast<int64_t>(block.indptr.size()) - 1;
  const torch::Tensor h_v = h.narrow(0, 0, num_destinations);
  const torch::Tensor h_nv = MeanAggregate(h, block);
  return self_(h_v) + neighbor_(h_nv);
}

SageImpl::SageImpl(const SageOptions& options)
    : layers_(register_module("layers", torch::nn::ModuleList())),
      dropout_(register_module("dropout", torch::nn::Dropout(options.dropout))) {
  for (int64_t k = 0; k < options.layers; ++k) {
    const bool last = k + 1 == options.layers;
    layers_->push_back(SageLayer(k == 0 ? options.in_dim : options.hidden,
                                 last ? options.num_classes : options.hidden));
  }
}

torch::Tensor SageImpl::forward(const torch::Tensor& features, const Minibatch& minibatch) {
  torch::Tensor h = features;
  const size_t depth = layers_->size();
  for (size_t k = 0; k < depth; ++k) {
    // Sampling went from the seeds outward, the model comes back.
    const Block& block = minibatch.layers[depth - 1 - k].blocks.front();
    if (k > 0) h = dropout_(torch::relu(h));
    h = layers_[k]->as<SageLayer>()->forward(h, block);
  }
  const auto& positions = minibatch.seed_positions.front();
  return h.index_select(0,
                        torch::from_blob(const_cast<int32_t*>(positions.data()),
                                         {static_cast<int64_t>(positions.size())}, torch::kInt32));
}

}  // namespace halograph

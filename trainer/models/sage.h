// GraphSAGE with the mean aggregator (Hamilton, Ying, Leskovec 2017, equation 1), on the blocks of
// a minibatch:
//   h_N(v) <- mean of h_u over the sampled in-neighbours u of v
//   h_v    <- ReLU(W_self h_v + W_neigh h_N(v) + b)       the last layer without ReLU: class scores
// Homogeneous graphs: one node type, one relation. Not thread-safe.
#pragma once

#include <cstdint>

#include "common/sampling/minibatch.h"
#include "trainer/models/torch_api.h"

namespace halograph {

struct SageOptions {
  int64_t layers = 2;
  int64_t in_dim = 0;
  int64_t hidden = 256;
  int64_t num_classes = 0;
  double dropout = 0.5;  // on the inputs of every layer but the first
};

// One hop.
class SageLayerImpl : public torch::nn::Module {
 public:
  SageLayerImpl(int64_t in_dim, int64_t out_dim);
  // `h`: of the block's sources, [sources, in_dim]; its first rows are the destinations'.
  // Returns [destinations, out_dim].
  torch::Tensor forward(const torch::Tensor& h, const Block& block);

 private:
  torch::nn::Linear self_{nullptr};
  torch::nn::Linear neighbor_{nullptr};
};
TORCH_MODULE(SageLayer);

class SageImpl : public torch::nn::Module {
 public:
  explicit SageImpl(const SageOptions& options);
  // `features`: of the minibatch's input nodes, [input nodes, in_dim]. `minibatch` must have one
  // block a layer, as many layers as the model, and live until backward is done.
  // Returns class scores of the listed seeds, [seeds, num_classes].
  torch::Tensor forward(const torch::Tensor& features, const Minibatch& minibatch);

 private:
  torch::nn::ModuleList layers_;
  torch::nn::Dropout dropout_{nullptr};
};
TORCH_MODULE(Sage);

}  // namespace halograph

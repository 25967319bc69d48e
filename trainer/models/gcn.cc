#include "trainer/models/gcn.h"

#include "trainer/kernels/linear_layer.h"
#include "trainer/kernels/normalized_sum.h"
#include "trainer/models/layered_model.h"

namespace halograph {
namespace {

class GcnHopImpl : public torch::nn::Module {
 public:
  GcnHopImpl(int64_t in_dim, int64_t out_dim)
      : weight(register_parameter("weight", torch::empty({out_dim, in_dim}))),
        bias(register_parameter("bias", torch::zeros({out_dim}))) {
    torch::nn::init::xavier_uniform_(weight);
  }

  const torch::Tensor weight, bias;
};
TORCH_MODULE(GcnHop);

class Gcn final : public LayeredModel {
 public:
  Gcn(const GcnOptions& options, const ModelShape& shape)
      : LayeredModel(options, shape, Activation::kRelu),
        layers_(register_module("layers", torch::nn::ModuleList())) {
    for (size_t k = 0; k < num_layers(); ++k) layers_->push_back(GcnHop(InDim(k), OutDim(k)));
  }

 private:
  torch::Tensor Layer(const torch::Tensor& h, const LayerPlace& at,
                      const LayerOutput& output) override {
    const auto& hop = *layers_[at.layer]->as<GcnHop>();
    const DegreeScales degrees = ScalesByDegree(*at.block, at.outer, h.size(0));
    const torch::Tensor sums =
        NormalizedSum(h.to(torch::kFloat32), *at.block, degrees, at.by_source);
    return LinearLayer(sums, hop.weight, hop.bias, output, precision());
  }

  torch::nn::ModuleList layers_;
};

}  // namespace

std::shared_ptr<Model> MakeGcn(const GcnOptions& options, const ModelShape& shape) {
  return std::make_shared<Gcn>(options, shape);
}

}  // namespace halograph

#include "trainer/models/gcn.h"

#include "trainer/kernels/finish_rows.h"
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

class Gcn final : public ProjectedLayeredModel {
 public:
  Gcn(const GcnOptions& options, const ModelShape& shape)
      : ProjectedLayeredModel(options, shape, Activation::kRelu),
        layers_(register_module("layers", torch::nn::ModuleList())) {
    for (size_t k = 0; k < num_layers(); ++k) layers_->push_back(GcnHop(InDim(k), OutDim(k)));
  }

  // W h
  LayerReads Project(size_t k, const torch::Tensor& h) override {
    return {.shared = LinearLayer(h, hop(k).weight, torch::Tensor(), {}, precision()), .own = {}};
  }

 private:
  torch::Tensor Layer(const torch::Tensor& h, const LayerPlace& at,
                      const LayerOutput& output) override {
    return LinearLayer(Propagated(h, at), hop(at.layer).weight, hop(at.layer).bias, output,
                       precision());
  }
  bool passes_narrow() const override { return true; }
  LayerReadDims FormulaDims(size_t k) const override { return {.shared = OutDim(k)}; }
  torch::Tensor LayerOfProjected(const torch::Tensor& rows, const LayerPlace& at,
                                 const LayerOutput& output) override {
    return FinishRows(Propagated(rows, at).contiguous(), hop(at.layer).bias, output);
  }

  static torch::Tensor Propagated(const torch::Tensor& rows, const LayerPlace& at) {
    return NormalizedByDegree(rows, at.block, at.outer);
  }
  const GcnHopImpl& hop(size_t k) { return *layers_[k]->as<GcnHop>(); }

  torch::nn::ModuleList layers_;
};

}  // namespace

std::shared_ptr<Model> MakeGcn(const GcnOptions& options, const ModelShape& shape) {
  return std::make_shared<Gcn>(options, shape);
}

}  // namespace halograph

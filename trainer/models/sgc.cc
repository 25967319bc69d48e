#include "trainer/models/sgc.h"

#include "trainer/kernels/linear_layer.h"
#include "trainer/kernels/normalized_sum.h"
#include "trainer/models/hidden_layer.h"
#include "trainer/models/model.h"

namespace halograph {
namespace {

class Sgc final : public Model {
 public:
  Sgc(const SgcOptions& options, const ModelShape& shape)
      : input_dropout_(options.input_dropout),
        precision_(shape.precision),
        linear_(register_module("linear",
                                torch::nn::Linear(shape.input_dims.front(), shape.output_dim))) {}

  std::vector<torch::Tensor> Forward(const ModelInput& input) override {
    return {LinearLayer(Propagated(input), linear_->weight, linear_->bias, {}, precision_)};
  }
  // What the linear layer reads.
  std::vector<torch::Tensor> Embed(const ModelInput& input) override {
    return {Propagated(input).contiguous()};
  }
  int64_t embedding_dim() const override { return linear_->weight.size(1); }

 private:
  torch::Tensor Propagated(const ModelInput& input) const {
    torch::Tensor h = Drop(input.nodes.front().to(torch::kFloat32),
                           Dropout::Of(input_dropout_, input.draws, kInputDraws));
    const Block* outer = nullptr;
    for (size_t at = input.minibatch->layers.size(); at-- > 0;) {
      const Block& block = input.minibatch->layers[at].blocks.front();
      const bool given = input.blocks != nullptr && !input.blocks->layers[at].transposed.empty();
      h = NormalizedSum(h, block, ScalesByDegree(block, outer, h.size(0)),
                        given ? &input.blocks->layers[at].transposed.front() : nullptr);
      outer = &block;
    }
    return h;
  }

  const double input_dropout_;
  const Precision precision_;
  torch::nn::Linear linear_;
};

}  // namespace

std::shared_ptr<Model> MakeSgc(const SgcOptions& options, const ModelShape& shape) {
  return std::make_shared<Sgc>(options, shape);
}

}  // namespace halograph

#include "trainer/models/embedding.h"

#include "trainer/kernels/device_sums.h"
#include "trainer/models/model.h"

namespace halograph {
namespace {

// What each value is multiplied by, on the CPU.
torch::Tensor FactorsOf(const Dropout& dropout, at::IntArrayRef shape) {
  torch::Tensor factors = torch::empty(shape);
  const int64_t cols = shape[1];
  auto* const values = factors.data_ptr<float>();
  at::parallel_for(0, shape[0], 64, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t col = 0; col < cols; ++col) {
        values[row * cols + col] = dropout.Keeps(row, col) ? dropout.scale() : 0;
      }
    }
  });
  return factors;
}

class EmbeddingModel final : public Model {
 public:
  EmbeddingModel(const EmbeddingModelOptions& options, const ModelShape& shape)
      : dropout_(options.dropout),
        precision_(shape.precision),
        output_dim_(shape.output_dim),
        widths_(register_module("widths", torch::nn::ModuleList())) {
    for (const int64_t dim : shape.input_dims) {
      width_of_type_.push_back(-1);
      if (dim == 0 || dim == output_dim_) continue;
      width_of_type_.back() = static_cast<int64_t>(widths_->size());
      widths_->push_back(torch::nn::Linear(dim, output_dim_));
    }
  }

  std::vector<torch::Tensor> ForwardLayer(size_t /*layer*/, const LayerInput& input) override {
    std::vector<torch::Tensor> outputs(width_of_type_.size());
    const std::vector<int64_t>& seeds = input.layer->num_destinations;
    for (size_t type = 0; type < outputs.size(); ++type) {
      if (seeds[type] == 0 || !input.nodes[type].defined()) continue;
      outputs[type] = RowsOf(type, input.nodes[type].narrow(0, 0, seeds[type]), input.draws);
    }
    return outputs;
  }
  std::vector<torch::Tensor> EmbedLayer(const LayerInput& input) override {
    return ForwardLayer(0, input);
  }
  int64_t embedding_dim() const override { return output_dim_; }
  bool HasWeightsOf(int type) const override {
    return width_of_type_[static_cast<size_t>(type)] >= 0;
  }
  size_t num_layers() const override { return 1; }
  int64_t layer_dim(size_t /*layer*/) const override { return output_dim_; }

 private:
  torch::Tensor RowsOf(size_t type, torch::Tensor x, const std::optional<uint64_t>& draws) {
    const Dropout dropout = Dropout::Of(dropout_, draws, type);
    if (dropout.dropped > 0) {
      x = x.device().is_cpu() ? x * FactorsOf(dropout, x.sizes()).to(x.scalar_type())
                              : DropOnDevice(x, dropout);
    }
    const int64_t width = width_of_type_[type];
    if (width < 0) return x.to(torch::kFloat32);
    const auto& linear = *widths_[static_cast<size_t>(width)]->as<torch::nn::Linear>();
    if (precision_ == Precision::kFloat32) {
      return torch::nn::functional::linear(x, linear.weight, linear.bias);
    }
    const auto narrow = [](const torch::Tensor& tensor) { return tensor.to(torch::kBFloat16); };
    return torch::nn::functional::linear(narrow(x), narrow(linear.weight), narrow(linear.bias))
        .to(torch::kFloat32);
  }

  const double dropout_;
  const Precision precision_;
  const int64_t output_dim_;
  std::vector<int64_t> width_of_type_;  // in widths_; -1: as it is
  torch::nn::ModuleList widths_;
};

}  // namespace

std::shared_ptr<Model> MakeEmbeddingModel(const EmbeddingModelOptions& options,
                                          const ModelShape& shape) {
  return std::make_shared<EmbeddingModel>(options, shape);
}

}  // namespace halograph

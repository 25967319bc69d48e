#include "trainer/kernels/sage_layer.h"

#include <cstring>

#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/mean_aggregate.h"

namespace halograph {
namespace {

// Rows [begin, end) of [self, mean of neighbours]: one product does for both.
void SelfAndMean(const PickedRows& picked, int64_t begin, int64_t end, const MutableRows& out) {
  for (int64_t v = begin; v < end; ++v) {
    std::memcpy(out.data + v * out.stride, picked.rows.data + v * picked.rows.stride,
                static_cast<size_t>(picked.cols) * sizeof(float));
  }
  MeanOfRows(picked, begin, end, {out.data + picked.cols, out.stride});
}

// The gradient of h out of that of [self, mean].
torch::Tensor BackToSources(const torch::Tensor& grad_x, const BlockTensors& block,
                            int64_t num_sources) {
  const int64_t cols = grad_x.size(1) / 2;
  const int64_t rows = grad_x.size(0);
  TransposedBlock own;
  if (block.by_source == nullptr) {
    own = Transpose(block.indptr.data_ptr<int64_t>(), rows, block.indices.data_ptr<int32_t>(),
                    num_sources);
  }
  const TransposedBlock& by_source = block.by_source != nullptr ? *block.by_source : own;
  const torch::Tensor grad_h = torch::empty({num_sources, cols}, torch::kFloat32);
  const ConstRows self = ConstRowsOf(grad_x);
  const PickedRows picked = {by_source.indptr.data(),
                             by_source.destinations.data(),
                             {self.data + cols, self.stride},
                             cols};
  const MutableRows out = MutableRowsOf(grad_h);
  at::parallel_for(0, num_sources, kRowGrain, [&](int64_t begin, int64_t end) {
    ScaledSumOfRows(picked, by_source.reciprocals.data(), self, rows, begin, end, out);
  });
  return grad_h;
}

// Of `h` and a block, or, without a block, of rows that are [self, mean] already.
class SageFunction : public torch::autograd::Function<SageFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const BlockTensors& block, const torch::Tensor& self,
                               const torch::Tensor& neighbor, const torch::Tensor& bias,
                               const LayerOutput& output, bool training) {
    torch::Tensor x;
    MakeRows make_rows;
    if (block.indptr.defined()) {
      CheckLayerInput(h, "SageLayer");
      x = RowsWithRoom(block.indptr.size(0) - 1, 2 * h.size(1));
      make_rows = [picked =
                       PickedRows{block.indptr.data_ptr<int64_t>(),
                                  block.indices.data_ptr<int32_t>(), ConstRowsOf(h), h.size(1)},
                   out = MutableRowsOf(x)](int64_t begin, int64_t end) {
        SelfAndMean(picked, begin, end, out);
      };
    } else {
      x = WithRoom(h);
    }
    const DenseResult result = DenseForward(x, make_rows, {self, neighbor}, bias, output, training);
    if (training) {
      context->save_for_backward({block.indptr, block.indices, x, self, neighbor, result.mask});
      context->saved_data["by_source"] = reinterpret_cast<int64_t>(block.by_source);
      context->saved_data["num_sources"] = h.size(0);
      context->saved_data["input_gradient"] = block.indptr.defined() && h.requires_grad();
      context->saved_data["scale"] = static_cast<double>(output.dropout.scale());
    }
    return result.out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    const bool input_gradient = context->saved_data["input_gradient"].toBool();
    const DenseGradients found =
        DenseBackward(grads[0], saved[5], scale, saved[2], {saved[3], saved[4]}, input_gradient);
    torch::Tensor grad_h;
    if (input_gradient) {
      const auto* const by_source =
          reinterpret_cast<const TransposedBlock*>(context->saved_data["by_source"].toInt());
      grad_h = BackToSources(found.x, {saved[0], saved[1], by_source},
                             context->saved_data["num_sources"].toInt());
    }
    return {grad_h,     torch::Tensor(), found.weights[0], found.weights[1],
            found.bias, torch::Tensor(), torch::Tensor()};
  }
};

torch::Tensor Apply(const torch::Tensor& h, const BlockTensors& block, const SageWeights& weights,
                    const LayerOutput& output) {
  const bool training = torch::GradMode::is_enabled() &&
                        (h.requires_grad() || weights.self.requires_grad() ||
                         weights.neighbor.requires_grad() || weights.bias.requires_grad());
  return SageFunction::apply(h, block, weights.self, weights.neighbor, weights.bias, output,
                             training);
}

// 0 or 1 for every value.
torch::Tensor Kept(const Dropout& dropout, torch::IntArrayRef sizes) {
  torch::Tensor kept = torch::empty(sizes, torch::kBool);
  bool* out = kept.data_ptr<bool>();
  for (int64_t row = 0; row < sizes[0]; ++row) {
    for (int64_t column = 0; column < sizes[1]; ++column) *out++ = dropout.Keeps(row, column);
  }
  return kept;
}

}  // namespace

torch::Tensor SageLayer(const torch::Tensor& h, const Block& block, const SageWeights& weights,
                        const LayerOutput& output) {
  return SageLayer(h, block, nullptr, weights, output);
}

torch::Tensor SageLayer(const torch::Tensor& h, const Block& block,
                        const TransposedBlock* by_source, const SageWeights& weights,
                        const LayerOutput& output) {
  BlockTensors tensors = TensorsOf(block);
  tensors.by_source = by_source;
  return Apply(h, tensors, weights, output);
}

torch::Tensor SageLayerOfRows(const torch::Tensor& self_and_mean, const SageWeights& weights,
                              const LayerOutput& output) {
  TORCH_CHECK(self_and_mean.dim() == 2 && self_and_mean.scalar_type() == torch::kFloat32 &&
                  self_and_mean.device().is_cpu(),
              "SageLayerOfRows needs a float32 matrix on the CPU");
  return Apply(self_and_mean.detach(), {}, weights, output);
}

torch::Tensor ComposedSageLayer(const torch::Tensor& h, const Block& block,
                                const SageWeights& weights, const LayerOutput& output) {
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  torch::Tensor z = torch::linear(h.narrow(0, 0, rows), weights.self, weights.bias) +
                    torch::linear(MeanAggregate(h, block), weights.neighbor);
  if (!output.relu) return z;
  z = torch::relu(z);
  if (output.dropout.dropped == 0) return z;
  return torch::where(Kept(output.dropout, z.sizes()), z * output.dropout.scale(),
                      torch::zeros({}, torch::kFloat32));
}

}  // namespace halograph

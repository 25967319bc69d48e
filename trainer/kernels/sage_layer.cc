#include "trainer/kernels/sage_layer.h"

#include <array>
#include <cstring>

#include "trainer/kernels/block_tensors.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/kernels/layer_epilogue.h"
#include "trainer/kernels/mean_aggregate.h"

namespace halograph {
namespace {

// The gradient of the bias is summed over as many chunks of rows, each in order, and these in
// order, whatever the number of threads.
constexpr int64_t kBiasChunks = 16;

// Values from one row of [self, mean] to the next: a multiple of 64 bytes, and none of 1 KB, since
// rows that far apart meet in the same few sets of a cache.
int64_t PaddedStride(int64_t cols) {
  const int64_t stride = (cols + 15) / 16 * 16;
  return stride % 256 == 0 ? stride + 16 : stride;
}

// [self, mean of neighbours] of every destination: one product does for both.
torch::Tensor SelfAndMean(const torch::Tensor& h, const BlockTensors& block) {
  const int64_t rows = block.indptr.size(0) - 1;
  const int64_t cols = h.size(1);
  const torch::Tensor x =
      torch::empty({rows, PaddedStride(2 * cols)}, torch::kFloat32).narrow(1, 0, 2 * cols);
  const PickedRows picked = {block.indptr.data_ptr<int64_t>(), block.indices.data_ptr<int32_t>(),
                             ConstRowsOf(h), cols};
  const MutableRows self = MutableRowsOf(x);
  const MutableRows means = {self.data + cols, self.stride};
  at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      std::memcpy(self.data + v * self.stride, picked.rows.data + v * cols,
                  static_cast<size_t>(cols) * sizeof(float));
    }
    MeanOfRows(picked, begin, end, means);
  });
  return x;
}

// The gradient of h out of that of [self, mean].
torch::Tensor BackToSources(const torch::Tensor& grad_x, const BlockTensors& block,
                            int64_t num_sources) {
  const int64_t cols = grad_x.size(1) / 2;
  const int64_t rows = grad_x.size(0);
  const TransposedBlock by_source = Transpose(block.indptr.data_ptr<int64_t>(), rows,
                                              block.indices.data_ptr<int32_t>(), num_sources);
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

// Bias, ReLU and dropout in place. Returns the mask, or no tensor if it is not `wanted`.
torch::Tensor FinishRows(const torch::Tensor& z, const torch::Tensor& bias,
                         const SageOutput& output, bool wanted) {
  if (!output.relu) {
    z.add_(bias);
    return {};
  }
  const int64_t cols = z.size(1);
  torch::Tensor mask;
  if (wanted) mask = torch::empty({z.size(0), MaskWords(cols)}, torch::kInt64);
  auto* words = wanted ? reinterpret_cast<uint64_t*>(mask.data_ptr<int64_t>()) : nullptr;
  at::parallel_for(0, z.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
    ReluEpilogue(MutableRowsOf(z), cols, bias.data_ptr<float>(), output.dropout, begin, end, words);
  });
  return mask;
}

struct ProductGradient {
  torch::Tensor z;
  torch::Tensor bias;
};

// The gradients of the product and of the bias out of the layer's.
ProductGradient BackThroughFinish(const torch::Tensor& grad, const torch::Tensor& mask,
                                  float scale) {
  if (!mask.defined()) return {grad, grad.sum(0)};
  const int64_t rows = grad.size(0), cols = grad.size(1);
  const torch::Tensor z = torch::empty({rows, cols}, torch::kFloat32);
  const torch::Tensor parts = torch::empty({kBiasChunks, cols}, torch::kFloat32);
  const auto* words = reinterpret_cast<const uint64_t*>(mask.data_ptr<int64_t>());
  at::parallel_for(0, kBiasChunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      ReluEpilogueBackward(ConstRowsOf(grad), cols, words, scale, chunk * rows / kBiasChunks,
                           (chunk + 1) * rows / kBiasChunks, MutableRowsOf(z),
                           parts.data_ptr<float>() + chunk * cols);
    }
  });
  torch::Tensor bias = parts[0].clone();
  for (int64_t chunk = 1; chunk < kBiasChunks; ++chunk) bias += parts[chunk];
  return {z, bias};
}

class SageFunction : public torch::autograd::Function<SageFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const torch::Tensor& indptr, const torch::Tensor& indices,
                               const torch::Tensor& self, const torch::Tensor& neighbor,
                               const torch::Tensor& bias, const SageOutput& output, bool training) {
    CheckLayerInput(h, "SageLayer");
    const torch::Tensor x = SelfAndMean(h, {indptr, indices});
    const torch::Tensor weights = torch::cat({self, neighbor}, 1);
    torch::Tensor z = torch::mm(x, weights.t());
    const torch::Tensor mask = FinishRows(z, bias, output, training);
    if (training) {
      context->save_for_backward({indptr, indices, x, weights, mask});
      context->saved_data["num_sources"] = h.size(0);
      context->saved_data["input_gradient"] = h.requires_grad();
      context->saved_data["scale"] = static_cast<double>(output.dropout.scale());
    }
    return z;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& x = saved[2];
    const torch::Tensor& weights = saved[3];
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    const ProductGradient grad = BackThroughFinish(grads[0].contiguous(), saved[4], scale);
    const torch::Tensor grad_weights = torch::mm(grad.z.t(), x);
    torch::Tensor grad_h;
    if (context->saved_data["input_gradient"].toBool()) {
      grad_h = BackToSources(torch::mm(grad.z, weights), {saved[0], saved[1]},
                             context->saved_data["num_sources"].toInt());
    }
    const int64_t cols = weights.size(1) / 2;
    return {grad_h,
            torch::Tensor(),
            torch::Tensor(),
            grad_weights.narrow(1, 0, cols),
            grad_weights.narrow(1, cols, cols),
            grad.bias,
            torch::Tensor(),
            torch::Tensor()};
  }
};

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
                        const SageOutput& output) {
  const BlockTensors tensors = TensorsOf(block);
  const bool training = torch::GradMode::is_enabled() &&
                        (h.requires_grad() || weights.self.requires_grad() ||
                         weights.neighbor.requires_grad() || weights.bias.requires_grad());
  return SageFunction::apply(h, tensors.indptr, tensors.indices, weights.self, weights.neighbor,
                             weights.bias, output, training);
}

torch::Tensor ComposedSageLayer(const torch::Tensor& h, const Block& block,
                                const SageWeights& weights, const SageOutput& output) {
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

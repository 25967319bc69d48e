#include "trainer/kernels/finish_rows.h"

#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/device_sums.h"
#include "trainer/kernels/layer_epilogue.h"

namespace halograph {
namespace {

// The gradient of the bias is summed over as many chunks of rows, each in order, and then these in
// order, whatever the number of threads.
constexpr int64_t kBiasChunks = 16;

class FinishFunction : public torch::autograd::Function<FinishFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& z,
                               const torch::Tensor& bias, const Dropout& dropout) {
    const int64_t rows = z.size(0), cols = z.size(1);
    const torch::Tensor out = z.clone();
    const torch::Tensor mask = torch::empty({rows, MaskWords(cols)}, torch::kInt64);
    const torch::Tensor biases = bias.contiguous();
    const LayerOutput output = {.relu = true, .dropout = dropout};
    at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
      FinishInPlace(RowsFrom(MutableRowsOf(out), begin), biases, output, begin, end, mask);
    });
    context->save_for_backward({mask});
    context->saved_data["scale"] = static_cast<double>(dropout.scale());
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const torch::Tensor mask = context->get_saved_variables()[0];
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    const FinishGradients found = FinishBackward(grads[0], mask, scale);
    return {found.product, found.bias, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor FinishRows(const torch::Tensor& z, const torch::Tensor& bias,
                         const LayerOutput& output) {
  if (!z.device().is_cpu()) return FinishOnDevice(z + bias, output);
  CheckLayerInput(z, "FinishRows");
  TORCH_CHECK(bias.dim() == 1 && bias.size(0) == z.size(1), "FinishRows: a bias of ", bias.sizes(),
              " for rows of ", z.size(1), " columns");
  if (!output.relu) return z + bias;
  return FinishFunction::apply(z, bias, output.dropout);
}

void FinishInPlace(const MutableRows& z, const torch::Tensor& bias, const LayerOutput& output,
                   int64_t begin, int64_t end, const torch::Tensor& mask) {
  const int64_t cols = bias.size(0);
  const float* const biases = bias.data_ptr<float>();
  if (output.relu) {
    ReluEpilogue(z, cols, biases, output.dropout, begin, end, WordsOf(mask));
    return;
  }
  for (int64_t row = begin; row < end; ++row) {
    float* const values = z.data + (row - begin) * z.stride;
    for (int64_t c = 0; c < cols; ++c) values[c] += biases[c];
  }
}

FinishGradients FinishBackward(const torch::Tensor& grad, const torch::Tensor& mask, float scale) {
  const torch::Tensor whole = grad.contiguous();
  const int64_t rows = whole.size(0), cols = whole.size(1);
  const torch::Tensor grad_z = mask.defined() ? torch::empty_like(whole) : whole;
  const torch::Tensor parts = torch::zeros({kBiasChunks, cols});
  const ConstRows from = ConstRowsOf(whole);
  at::parallel_for(0, kBiasChunks, 1, [&](int64_t first, int64_t last) {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      const int64_t begin = chunk * rows / kBiasChunks, end = (chunk + 1) * rows / kBiasChunks;
      float* const part = parts.data_ptr<float>() + chunk * cols;
      if (mask.defined()) {
        ReluEpilogueBackward(from, cols, WordsOf(mask), scale, begin, end, MutableRowsOf(grad_z),
                             part);
        continue;
      }
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t c = 0; c < cols; ++c) part[c] += from.data[row * from.stride + c];
      }
    }
  });
  return {grad_z, SumInOrder(parts)};
}

}  // namespace halograph

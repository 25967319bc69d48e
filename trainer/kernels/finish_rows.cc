#include "trainer/kernels/finish_rows.h"

#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/layer_epilogue.h"

namespace halograph {
namespace {

// The gradient of the bias is summed over as many chunks of rows, each in order, and then these in
// order, whatever the number of threads.
constexpr int64_t kBiasChunks = 16;

uint64_t* WordsIn(const torch::Tensor& mask) {
  return reinterpret_cast<uint64_t*>(mask.data_ptr<int64_t>());
}

class FinishFunction : public torch::autograd::Function<FinishFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& z,
                               const torch::Tensor& bias, const Dropout& dropout) {
    const int64_t rows = z.size(0), cols = z.size(1);
    const torch::Tensor out = z.clone();
    const torch::Tensor mask = torch::empty({rows, MaskWords(cols)}, torch::kInt64);
    const torch::Tensor biases = bias.contiguous();
    at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
      ReluEpilogue(MutableRowsOf(out), cols, biases.data_ptr<float>(), dropout, begin, end,
                   WordsIn(mask));
    });
    context->save_for_backward({mask});
    context->saved_data["scale"] = static_cast<double>(dropout.scale());
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const torch::Tensor mask = context->get_saved_variables()[0];
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    const torch::Tensor grad = grads[0].contiguous();
    const int64_t rows = grad.size(0), cols = grad.size(1);
    const torch::Tensor grad_z = torch::empty_like(grad);
    const torch::Tensor parts = torch::zeros({kBiasChunks, cols});
    auto* const part = parts.data_ptr<float>();
    at::parallel_for(0, kBiasChunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        ReluEpilogueBackward(ConstRowsOf(grad), cols, WordsIn(mask), scale,
                             chunk * rows / kBiasChunks, (chunk + 1) * rows / kBiasChunks,
                             MutableRowsOf(grad_z), part + chunk * cols);
      }
    });
    return {grad_z, SumInOrder(parts), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor FinishRows(const torch::Tensor& z, const torch::Tensor& bias,
                         const LayerOutput& output) {
  CheckLayerInput(z, "FinishRows");
  TORCH_CHECK(bias.dim() == 1 && bias.size(0) == z.size(1), "FinishRows: a bias of ", bias.sizes(),
              " for rows of ", z.size(1), " columns");
  if (!output.relu) return z + bias;
  return FinishFunction::apply(z, bias, output.dropout);
}

}  // namespace halograph

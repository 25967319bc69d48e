#include "trainer/kernels/linear_layer.h"

#include "trainer/kernels/attention_parts.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/device_sums.h"
#include "trainer/kernels/layer_epilogue.h"

namespace halograph {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

void CheckLinearInput(const torch::Tensor& x) {
  const bool narrow = x.scalar_type() == torch::kBFloat16;
  TORCH_CHECK(
      x.dim() == 2 && x.device().is_cpu() &&
          (x.scalar_type() == torch::kFloat32 || (narrow && !x.requires_grad())),
      "LinearLayer needs a matrix on the CPU, of float32 or of bfloat16 without a gradient");
}

// What a product reads, and what fills it a few rows at a time, if it is not there yet.
struct ProductRows {
  torch::Tensor rows;
  MakeRows make;
};

ProductRows ProductRowsOf(const torch::Tensor& x, Precision precision) {
  if (x.scalar_type() == torch::kBFloat16 || precision == Precision::kFloat32) {
    return {WithRoom(x), nullptr};
  }
  ProductRows made = {RowsWithRoom(x.size(0), x.size(1), Precision::kBf16), nullptr};
  const torch::Tensor from = x.size(1) == 1 || x.stride(1) == 1 ? x : x.contiguous();
  const MutableBf16Rows to = MutableBf16RowsOf(made.rows);
  made.make = [from, to](int64_t begin, int64_t end) {
    NarrowRows(ConstRowsOf(from), from.size(1), begin, end, to);
  };
  return made;
}

class LinearLayerFunction : public torch::autograd::Function<LinearLayerFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const LayerOutput& output, Precision precision, bool training) {
    const ProductRows made = ProductRowsOf(x, precision);
    const DenseResult result = DenseForward(made.rows, made.make, {weight}, bias, output, training);
    if (training) {
      context->save_for_backward({made.rows, weight, result.mask});
      context->saved_data["input_gradient"] = x.requires_grad();
      context->saved_data["scale"] = static_cast<double>(output.dropout.scale());
    }
    return result.out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    const DenseGradients found = DenseBackward(grads[0], saved[2], scale, saved[0], {saved[1]},
                                               context->saved_data["input_gradient"].toBool());
    return {found.x,         found.weights[0], found.bias,
            torch::Tensor(), torch::Tensor(),  torch::Tensor()};
  }
};

torch::Tensor LeftOf(const torch::Tensor& values, const Dropout& dropout) {
  const torch::Tensor whole = values.contiguous();
  torch::Tensor out = torch::empty(whole.sizes(), torch::kFloat32);
  at::parallel_for(0, whole.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
    DropRows(ConstRowsOf(whole), whole.size(1), dropout, begin, end, MutableRowsOf(out));
  });
  return out;
}

class DropFunction : public torch::autograd::Function<DropFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const Dropout& dropout) {
    KeepDropout(context, dropout);
    return LeftOf(x, dropout);
  }
  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    return {LeftOf(grads[0], KeptDropout(context)), torch::Tensor()};
  }
};

// Composed of libtorch's operations, where the rows are on a device.
torch::Tensor LinearOnDevice(const torch::Tensor& x, const torch::Tensor& weight,
                             const torch::Tensor& bias, const LayerOutput& output,
                             Precision precision) {
  torch::Tensor z;
  if (x.scalar_type() == torch::kBFloat16 || precision == Precision::kBf16) {
    z = torch::linear(x.to(torch::kBFloat16), weight.to(torch::kBFloat16)).to(torch::kFloat32);
    if (bias.defined()) z = z + bias;
  } else {
    z = torch::linear(x, weight, bias);
  }
  return FinishOnDevice(z, output);
}

}  // namespace

torch::Tensor LinearLayer(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& bias, const LayerOutput& output,
                          Precision precision) {
  if (!x.device().is_cpu()) return LinearOnDevice(x, weight, bias, output, precision);
  CheckLinearInput(x);
  const torch::Tensor biases = bias.defined() ? bias : torch::zeros({weight.size(0)});
  const bool training =
      torch::GradMode::is_enabled() &&
      (x.requires_grad() || weight.requires_grad() || (bias.defined() && bias.requires_grad()));
  return LinearLayerFunction::apply(x, weight, biases, output, precision, training);
}

torch::Tensor Drop(const torch::Tensor& x, const Dropout& dropout) {
  if (dropout.dropped == 0) return x;
  if (!x.device().is_cpu()) return DropOnDevice(x, dropout);
  TORCH_CHECK(x.dim() == 2 && x.scalar_type() == torch::kFloat32 && x.device().is_cpu(),
              "Drop needs a float32 matrix");
  return DropFunction::apply(x, dropout);
}

}  // namespace halograph

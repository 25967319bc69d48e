#include "trainer/kernels/sage_layer.h"

#include "trainer/blocks/self_and_mean.h"
#include "trainer/kernels/aggregate.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/device_sums.h"
#include "trainer/kernels/linear_layer.h"

namespace halograph {
namespace {

void CheckSageInput(const torch::Tensor& h) {
  if (!IsBf16(h)) return CheckLayerInput(h, "SageLayer");
  TORCH_CHECK(h.dim() == 2 && h.is_contiguous() && h.device().is_cpu(),
              "SageLayer needs a contiguous matrix on the CPU");
}

// What makes [self, mean of neighbours], for which one product does for both.
template <typename Rows, typename OutRows>
MakeRows MakeSelfAndMean(const Rows& rows, int64_t cols, const BlockTensors& block,
                         const OutRows& out) {
  const Picked<Rows> picked = PickBy(block, rows, cols);
  return [=](int64_t begin, int64_t end) { FillSelfAndMean(rows, cols, picked, begin, end, out); };
}

MakeRows MakeSelfAndMean(const torch::Tensor& h, const BlockTensors& block,
                         const torch::Tensor& x) {
  const int64_t cols = h.size(1);
  if (!IsBf16(x)) return MakeSelfAndMean(ConstRowsOf(h), cols, block, MutableRowsOf(x));
  const MutableBf16Rows out = MutableBf16RowsOf(x);
  return IsBf16(h) ? MakeSelfAndMean(ConstBf16RowsOf(h), cols, block, out)
                   : MakeSelfAndMean(ConstRowsOf(h), cols, block, out);
}

// The gradient of h, of its type, out of that of [self, mean].
torch::Tensor BackToSources(const torch::Tensor& grad_x, const BlockTensors& block,
                            int64_t num_sources, torch::ScalarType type) {
  const int64_t cols = grad_x.size(1) / 2;
  const int64_t rows = grad_x.size(0);
  TransposedBlock own;
  const TransposedBlock& by_source = GivenOrMade(block, num_sources, &own);
  const torch::Tensor grad_h = torch::empty({num_sources, cols}, type);
  const ConstRows self = ConstRowsOf(grad_x);
  const PickedRows picked = PickBy(by_source, grad_x.narrow(1, cols, cols));
  at::parallel_for(0, num_sources, kRowGrain, [&](int64_t begin, int64_t end) {
    const auto fill = [&](const auto& out) {
      ScaledSumOfRows(picked, by_source.reciprocals.data(), self, rows, begin, end, out);
    };
    IsBf16(grad_h) ? fill(MutableBf16RowsOf(grad_h)) : fill(MutableRowsOf(grad_h));
  });
  return grad_h;
}

// Of `h` and a block, or, without a block, of rows that are [self, mean] already.
class SageFunction : public torch::autograd::Function<SageFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const BlockTensors& block, const torch::Tensor& self,
                               const torch::Tensor& neighbor, const torch::Tensor& bias,
                               const LayerOutput& output, Precision precision, bool training) {
    torch::Tensor x;
    MakeRows make_rows;
    if (block.indptr.defined()) {
      CheckSageInput(h);
      const Precision of_rows = IsBf16(h) ? Precision::kBf16 : precision;
      x = RowsWithRoom(block.indptr.size(0) - 1, 2 * h.size(1), of_rows);
      make_rows = MakeSelfAndMean(h, block, x);
    } else {
      x = WithRoom(h);
    }
    const DenseResult result = DenseForward(x, make_rows, {self, neighbor}, bias, output, training);
    if (training) {
      context->save_for_backward({block.indptr, block.indices, x, self, neighbor, result.mask});
      KeepRestOf(context, block);
      context->saved_data["num_sources"] = h.size(0);
      context->saved_data["type"] = static_cast<int64_t>(h.scalar_type());
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
      grad_h = BackToSources(found.x, KeptBlock(context, saved[0], saved[1]),
                             context->saved_data["num_sources"].toInt(),
                             static_cast<torch::ScalarType>(context->saved_data["type"].toInt()));
    }
    return {grad_h,     torch::Tensor(), found.weights[0], found.weights[1],
            found.bias, torch::Tensor(), torch::Tensor(),  torch::Tensor()};
  }
};

torch::Tensor Apply(const torch::Tensor& h, const BlockTensors& block, const SageWeights& weights,
                    const LayerOutput& output, Precision precision) {
  const bool training = torch::GradMode::is_enabled() &&
                        (h.requires_grad() || weights.self.requires_grad() ||
                         weights.neighbor.requires_grad() || weights.bias.requires_grad());
  return SageFunction::apply(h, block, weights.self, weights.neighbor, weights.bias, output,
                             precision, training);
}

}  // namespace

torch::Tensor SageLayer(const torch::Tensor& h, const Block& block, const SageWeights& weights,
                        const LayerOutput& output) {
  return SageLayer(h, block, nullptr, weights, output);
}

torch::Tensor SageLayer(const torch::Tensor& h, const Block& block,
                        const TransposedBlock* by_source, const SageWeights& weights,
                        const LayerOutput& output, Precision precision) {
  BlockTensors tensors = TensorsOf(block);
  tensors.by_source = by_source;
  return Apply(h, tensors, weights, output, precision);
}

torch::Tensor SageLayer(const torch::Tensor& h, const BlockRef& block, const SageWeights& weights,
                        const LayerOutput& output, Precision precision) {
  if (block.on_device == nullptr) {
    return SageLayer(h, *block.block, block.by_source, weights, output, precision);
  }
  const torch::Tensor rows = h.to(torch::kFloat32);
  const torch::Tensor self = rows.narrow(0, 0, block.on_device->num_destinations());
  const torch::Tensor means = Aggregate(rows, block, Aggregation::kMean);
  return LinearLayer(torch::cat({self, means}, 1), torch::cat({weights.self, weights.neighbor}, 1),
                     weights.bias, output, precision);
}

torch::Tensor SageLayerOfRows(const torch::Tensor& self_and_mean, const SageWeights& weights,
                              const LayerOutput& output) {
  const torch::ScalarType type = self_and_mean.scalar_type();
  TORCH_CHECK(self_and_mean.dim() == 2 && self_and_mean.device().is_cpu() &&
                  (type == torch::kFloat32 || type == torch::kBFloat16),
              "SageLayerOfRows needs a matrix of float32 or bfloat16 on the CPU");
  return Apply(self_and_mean.detach(), {}, weights, output, Precision::kFloat32);
}

torch::Tensor ComposedSageLayer(const torch::Tensor& h, const Block& block,
                                const SageWeights& weights, const LayerOutput& output) {
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  torch::Tensor z = torch::linear(h.narrow(0, 0, rows), weights.self, weights.bias) +
                    torch::linear(Aggregate(h, block, Aggregation::kMean), weights.neighbor);
  if (!output.relu) return z;
  z = torch::relu(z);
  if (output.dropout.dropped == 0) return z;
  return torch::where(KeptPlaces(output.dropout, z.size(0), z.size(1)), z * output.dropout.scale(),
                      torch::zeros({}, torch::kFloat32));
}

}  // namespace halograph

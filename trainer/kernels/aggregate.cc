#include "trainer/kernels/aggregate.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "trainer/blocks/gather_rows.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/device_sums.h"
#include "trainer/kernels/max_rows.h"

namespace halograph {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// What backward gets beside tensors.
void KeepForBack(AutogradContext* context, const torch::Tensor& h, const BlockTensors& block) {
  context->saved_data["num_sources"] = h.size(0);
  KeepRestOf(context, block);
}

// Makes rows [begin, end) of the gradient of h.
using BackKernel = std::function<void(const TransposedBlock& by_source, const PickedRows& grad,
                                      int64_t begin, int64_t end, const MutableRows& out)>;

// The gradients of Aggregate's arguments. The first tensors that were saved are the block's.
tensor_list BackToSources(AutogradContext* context, const torch::autograd::variable_list& saved,
                          const torch::Tensor& grad, const BackKernel& kernel) {
  const int64_t num_sources = context->saved_data["num_sources"].toInt();
  const torch::Tensor grad_out = grad.contiguous();
  TransposedBlock own;
  const TransposedBlock& by_source =
      GivenOrMade(KeptBlock(context, saved[0], saved[1]), num_sources, &own);
  const torch::Tensor grad_h = torch::empty({num_sources, grad_out.size(1)}, torch::kFloat32);
  const PickedRows picked = PickBy(by_source, grad_out);
  at::parallel_for(0, num_sources, kRowGrain, [&](int64_t begin, int64_t end) {
    kernel(by_source, picked, begin, end, MutableRowsOf(grad_h));
  });
  return {grad_h, torch::Tensor(), torch::Tensor()};
}

// Sum and mean: the gradient of a row comes from its destinations alone.
class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const BlockTensors& block, bool mean) {
    CheckLayerInput(h, "Aggregate");
    context->save_for_backward({block.indptr, block.indices});
    KeepForBack(context, h, block);
    context->saved_data["mean"] = mean;
    const torch::Tensor out = torch::empty({block.num_destinations(), h.size(1)}, torch::kFloat32);
    const PickedRows picked = PickBy(block, h);
    at::parallel_for(0, out.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
      if (mean) return MeanOfRows(picked, begin, end, MutableRowsOf(out));
      ScaledSumOfRows(picked, nullptr, {}, 0, begin, end, MutableRowsOf(out));
    });
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const bool mean = context->saved_data["mean"].toBool();
    return BackToSources(context, context->get_saved_variables(), grads[0],
                         [mean](const TransposedBlock& by_source, const PickedRows& grad,
                                int64_t begin, int64_t end, const MutableRows& out) {
                           const float* scales = mean ? by_source.reciprocals.data() : nullptr;
                           ScaledSumOfRows(grad, scales, {}, 0, begin, end, out);
                         });
  }
};

// Of the largest value no coefficient could weigh the terms.
void RefuseCoefficients(bool has_coefficients) {
  TORCH_CHECK(
      !has_coefficients,
      "the block has coefficients of edges, which a maximum cannot take: aggregate by sum or "
      "mean (--aggregator mean)");
}

class MaxFunction : public torch::autograd::Function<MaxFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const BlockTensors& block, bool training) {
    CheckLayerInput(h, "Aggregate");
    const torch::Tensor out = torch::empty({block.num_destinations(), h.size(1)}, torch::kFloat32);
    torch::Tensor winners;
    if (training) winners = torch::empty(out.sizes(), torch::kInt32);
    const PickedRows picked = PickBy(block, h);
    int32_t* who = training ? winners.data_ptr<int32_t>() : nullptr;
    at::parallel_for(0, out.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
      MaxOfRows(picked, begin, end, MutableRowsOf(out), who);
    });
    if (training) {
      context->save_for_backward({block.indptr, block.indices, winners});
      KeepForBack(context, h, block);
    }
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const int32_t* winners = saved[2].data_ptr<int32_t>();
    return BackToSources(
        context, saved, grads[0],
        [winners](const TransposedBlock&, const PickedRows& grad, int64_t begin, int64_t end,
                  const MutableRows& out) { MaxOfRowsBackward(grad, winners, begin, end, out); });
  }
};

// The rows of each destination side by side, filled up with a row of minus infinity, which loses
// against every row before it.
torch::Tensor ComposedMax(const torch::Tensor& h, const Block& block) {
  const auto rows = static_cast<int64_t>(block.indptr.size()) - 1;
  int64_t most = 1;
  for (int64_t v = 0; v < rows; ++v) most = std::max(most, block.indptr[v + 1] - block.indptr[v]);
  torch::Tensor picks = torch::full({rows, most}, h.size(0), torch::kInt64);
  auto* pick = picks.data_ptr<int64_t>();
  for (int64_t v = 0; v < rows; ++v) {
    std::copy(block.indices.begin() + block.indptr[v], block.indices.begin() + block.indptr[v + 1],
              pick + v * most);
  }
  const torch::Tensor degrees = ComposedBlockOf(block.indptr, block.indices, h.device()).degrees;
  const torch::Tensor least =
      torch::full({1, h.size(1)}, -std::numeric_limits<double>::infinity(), h.options());
  const torch::Tensor padded = torch::cat({h, least});
  const torch::Tensor side_by_side =
      padded.index_select(0, picks.view(-1).to(h.device())).view({rows, most, h.size(1)});
  const torch::Tensor largest = std::get<0>(side_by_side.max(1));
  return torch::where((degrees == 0).unsqueeze(1), torch::zeros({}, h.options()), largest);
}

// Of equal values that of the first edge, which alone gets the gradient.
torch::Tensor MaxOnDevice(const torch::Tensor& h, const BlockOnDevice& block) {
  RefuseCoefficients(block.coefficients.defined());
  const torch::Tensor rows = RowsOfSources(h, block);
  const int64_t edges = block.num_edges();
  if (edges == 0) return torch::zeros({block.num_destinations(), h.size(1)}, h.options());
  const torch::Tensor largest = RowsOfDestinations(LargestOfEdges(rows, block), block);
  const torch::Tensor wins = (rows == largest).logical_or(rows.isnan());
  // float32 counts up to here.
  const auto type = edges < (int64_t{1} << 24) ? torch::kFloat32 : torch::kFloat64;
  const torch::Tensor number = torch::arange(edges, h.options().dtype(type)).unsqueeze(1);
  const torch::Tensor later = torch::full({}, static_cast<double>(-edges), number.options());
  // The largest of the negated numbers is that of the first edge.
  const torch::Tensor first = LargestOfEdges(torch::where(wins, -number, later), block).neg();
  const torch::Tensor picked = rows.gather(0, first.clamp(0, edges - 1).to(torch::kInt64));
  return torch::where((DegreesOf(block) == 0).unsqueeze(1), torch::zeros({}, h.options()), picked);
}

}  // namespace

torch::Tensor Aggregate(const torch::Tensor& h, const Block& block, Aggregation how,
                        const TransposedBlock* by_source) {
  if (how == Aggregation::kMax) RefuseCoefficients(!block.coefficients.empty());
  const BlockTensors tensors = TensorsOf(block, by_source);
  if (how != Aggregation::kMax) {
    return LinearFunction::apply(h, tensors, how == Aggregation::kMean);
  }
  const bool training = torch::GradMode::is_enabled() && h.requires_grad();
  return MaxFunction::apply(h, tensors, training);
}

torch::Tensor Aggregate(const torch::Tensor& h, const BlockRef& block, Aggregation how) {
  if (block.on_device == nullptr) return Aggregate(h, *block.block, how, block.by_source);
  if (how == Aggregation::kMax) return MaxOnDevice(h, *block.on_device);
  const torch::Tensor sums = SumOfSources(h, *block.on_device);
  if (how == Aggregation::kSum) return sums;
  return sums * ReciprocalsOf(*block.on_device).unsqueeze(1);
}

torch::Tensor ComposedAggregate(const torch::Tensor& h, const Block& block, Aggregation how) {
  if (how == Aggregation::kMax) return ComposedMax(h, block);
  const ComposedBlock composed = ComposedBlockOf(block, h.device());
  return how == Aggregation::kSum ? SumOfSourcesBy(composed, h) : MeanOfSourcesBy(composed, h);
}

}  // namespace halograph

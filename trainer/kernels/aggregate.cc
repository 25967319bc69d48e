#include "trainer/kernels/aggregate.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "trainer/blocks/block_transpose.h"
#include "trainer/blocks/gather_rows.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/max_rows.h"

namespace halograph {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// `rows` picked by a CSC of tensors.
PickedRows PickBy(const torch::Tensor& indptr, const torch::Tensor& indices,
                  const torch::Tensor& rows) {
  return {indptr.data_ptr<int64_t>(), indices.data_ptr<int32_t>(), ConstRowsOf(rows), rows.size(1)};
}

PickedRows PickBy(const TransposedBlock& block, const torch::Tensor& rows) {
  return {block.indptr.data(), block.destinations.data(), ConstRowsOf(rows), rows.size(1)};
}

TransposedBlock TransposedOf(const torch::Tensor& indptr, const torch::Tensor& indices,
                             int64_t num_sources) {
  return Transpose(indptr.data_ptr<int64_t>(), indptr.size(0) - 1, indices.data_ptr<int32_t>(),
                   num_sources);
}

// Sum and mean: the gradient of a row comes from its destinations alone.
class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const torch::Tensor& indptr, const torch::Tensor& indices,
                               bool mean) {
    CheckLayerInput(h, "Aggregate");
    context->save_for_backward({indptr, indices});
    context->saved_data["num_sources"] = h.size(0);
    context->saved_data["mean"] = mean;
    const int64_t rows = indptr.size(0) - 1;
    const torch::Tensor out = torch::empty({rows, h.size(1)}, torch::kFloat32);
    const PickedRows picked = PickBy(indptr, indices, h);
    const MutableRows sums = MutableRowsOf(out);
    at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
      if (mean) return MeanOfRows(picked, begin, end, sums);
      ScaledSumOfRows(picked, nullptr, {}, 0, begin, end, sums);
    });
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const int64_t num_sources = context->saved_data["num_sources"].toInt();
    const bool mean = context->saved_data["mean"].toBool();
    const torch::Tensor grad_out = grads[0].contiguous();
    const TransposedBlock by_source = TransposedOf(saved[0], saved[1], num_sources);
    const torch::Tensor grad_h = torch::empty({num_sources, grad_out.size(1)}, torch::kFloat32);
    const PickedRows picked = PickBy(by_source, grad_out);
    const MutableRows sums = MutableRowsOf(grad_h);
    at::parallel_for(0, num_sources, kRowGrain, [&](int64_t begin, int64_t end) {
      ScaledSumOfRows(picked, mean ? by_source.reciprocals.data() : nullptr, {}, 0, begin, end,
                      sums);
    });
    return {grad_h, torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

class MaxFunction : public torch::autograd::Function<MaxFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const torch::Tensor& indptr, const torch::Tensor& indices,
                               bool training) {
    CheckLayerInput(h, "Aggregate");
    const int64_t rows = indptr.size(0) - 1;
    const torch::Tensor out = torch::empty({rows, h.size(1)}, torch::kFloat32);
    torch::Tensor winners;
    if (training) winners = torch::empty({rows, h.size(1)}, torch::kInt32);
    const PickedRows picked = PickBy(indptr, indices, h);
    const MutableRows values = MutableRowsOf(out);
    int32_t* who = training ? winners.data_ptr<int32_t>() : nullptr;
    at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
      MaxOfRows(picked, begin, end, values, who);
    });
    if (training) {
      context->save_for_backward({indptr, indices, winners});
      context->saved_data["num_sources"] = h.size(0);
    }
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const int64_t num_sources = context->saved_data["num_sources"].toInt();
    const torch::Tensor grad_out = grads[0].contiguous();
    const TransposedBlock by_source = TransposedOf(saved[0], saved[1], num_sources);
    const torch::Tensor grad_h = torch::empty({num_sources, grad_out.size(1)}, torch::kFloat32);
    const PickedRows picked = PickBy(by_source, grad_out);
    const MutableRows sums = MutableRowsOf(grad_h);
    const int32_t* winners = saved[2].data_ptr<int32_t>();
    at::parallel_for(0, num_sources, kRowGrain, [&](int64_t begin, int64_t end) {
      MaxOfRowsBackward(picked, winners, begin, end, sums);
    });
    return {grad_h, torch::Tensor(), torch::Tensor(), torch::Tensor()};
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

}  // namespace

torch::Tensor Aggregate(const torch::Tensor& h, const Block& block, Aggregation how) {
  const BlockTensors tensors = TensorsOf(block);
  if (how != Aggregation::kMax) {
    return LinearFunction::apply(h, tensors.indptr, tensors.indices, how == Aggregation::kMean);
  }
  const bool training = torch::GradMode::is_enabled() && h.requires_grad();
  return MaxFunction::apply(h, tensors.indptr, tensors.indices, training);
}

torch::Tensor ComposedAggregate(const torch::Tensor& h, const Block& block, Aggregation how) {
  if (how == Aggregation::kMax) return ComposedMax(h, block);
  const ComposedBlock composed = ComposedBlockOf(block.indptr, block.indices, h.device());
  const torch::Tensor sums = SumByRow(h.index_select(0, composed.sources), composed.destinations,
                                      composed.degrees.size(0));
  if (how == Aggregation::kSum) return sums;
  return sums / composed.degrees.clamp_min(1).unsqueeze(1);
}

}  // namespace halograph

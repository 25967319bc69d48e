#include "trainer/kernels/relational_aggregate.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "trainer/blocks/block_transpose.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/relational_rows.h"

namespace halograph {
namespace {

// The gradient of the coefficients is summed over as many chunks of destinations, each in order,
// and these in order, whatever the number of threads.
constexpr int64_t kCoefficientChunks = 16;
// Destinations whose means are made before they are summed: they are then still in the cache.
constexpr int64_t kMeansAhead = 16;

// Where the rows begin that are copied; -1: nowhere.
using FirstSelf = int64_t;

struct RelationalTensors {
  torch::Tensor groups, relations, indptr, sources;  // views of RelationalBlock's
};

GroupedBases BasesOf(const RelationalTensors& block, const torch::Tensor& coefficients) {
  return {block.groups.data_ptr<int64_t>(), block.relations.data_ptr<int32_t>(),
          coefficients.data_ptr<float>(), coefficients.size(1)};
}

// The same rows from a column on.
ConstRows From(const ConstRows& rows, int64_t column) { return {rows.data + column, rows.stride}; }

void CheckRelationalShapes(const torch::Tensor& h, const RelationalBlock& block,
                           const torch::Tensor& coefficients, FirstSelf first_self) {
  TORCH_CHECK(h.dim() == 2 && h.size(1) > 0, "RelationalAggregate needs a matrix of inputs");
  TORCH_CHECK(coefficients.dim() == 2 && coefficients.size(0) == block.num_relations &&
                  coefficients.size(1) > 0,
              "RelationalAggregate: coefficients are ", coefficients.sizes(), ", the block needs [",
              block.num_relations, ", bases]");
  const auto rows = static_cast<int64_t>(block.groups.size()) - 1;
  TORCH_CHECK(first_self < 0 || first_self + rows <= h.size(0), "RelationalAggregate: rows ",
              first_self, " to ", first_self + rows, " of ", h.size(0), " inputs for itself");
}

PickedRows PickOf(const RelationalTensors& block, const torch::Tensor& h) {
  return {block.indptr.data_ptr<int64_t>(), block.sources.data_ptr<int32_t>(), ConstRowsOf(h),
          h.size(1)};
}

// Destinations [begin, end).
void FillRows(const PickedRows& picked, const GroupedBases& bases, int64_t begin, int64_t end,
              const MutableRows& means, const MutableRows& out, FirstSelf first_self) {
  MeanOfRows(picked, bases.groups[begin], bases.groups[end], means);
  SumGroupsByBasis(bases, {means.data, means.stride}, picked.cols, begin, end, out);
  if (first_self < 0) return;
  for (int64_t v = begin; v < end; ++v) {
    std::memcpy(out.data + v * out.stride + bases.bases * picked.cols,
                picked.rows.data + (first_self + v) * picked.rows.stride,
                static_cast<size_t>(picked.cols) * sizeof(float));
  }
}

// Fills `means_grad` if it is defined. Returns the gradient of the coefficients.
torch::Tensor BackToGroups(const RelationalTensors& block, const torch::Tensor& coefficients,
                           const torch::Tensor& means, const torch::Tensor& grad,
                           const torch::Tensor& means_grad) {
  const int64_t rows = grad.size(0);
  const int64_t values = coefficients.numel();
  const torch::Tensor parts =
      torch::zeros({kCoefficientChunks, coefficients.size(0), coefficients.size(1)});
  const GroupedBases bases = BasesOf(block, coefficients);
  const MutableRows out = means_grad.defined() ? MutableRowsOf(means_grad) : MutableRows{};
  auto* part = parts.data_ptr<float>();
  at::parallel_for(0, kCoefficientChunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      SumGroupsByBasisBackward(bases, ConstRowsOf(means), means.size(1), ConstRowsOf(grad),
                               chunk * rows / kCoefficientChunks,
                               (chunk + 1) * rows / kCoefficientChunks, out, part + chunk * values);
    }
  });
  torch::Tensor total = parts[0].clone();
  for (int64_t chunk = 1; chunk < kCoefficientChunks; ++chunk) total += parts[chunk];
  return total;
}

torch::Tensor BackToInputs(const RelationalTensors& block, const torch::Tensor& means_grad,
                           const torch::Tensor& grad, int64_t num_sources, FirstSelf first_self) {
  const int64_t cols = means_grad.size(1);
  const TransposedBlock by_source = Transpose(block.indptr.data_ptr<int64_t>(), means_grad.size(0),
                                              block.sources.data_ptr<int32_t>(), num_sources);
  const torch::Tensor grad_h = torch::empty({num_sources, cols}, torch::kFloat32);
  const MutableRows out = MutableRowsOf(grad_h);
  const PickedRows picked = {by_source.indptr.data(), by_source.destinations.data(),
                             ConstRowsOf(means_grad), cols};
  const ConstRows self = From(ConstRowsOf(grad), grad.size(1) - cols);
  const int64_t self_begin = std::max<int64_t>(first_self, 0);
  const int64_t self_end = first_self < 0 ? 0 : first_self + grad.size(0);
  // Rows counted from `first` on, so that row 0 has row 0 of `self` in front.
  const auto sum = [&](int64_t first, int64_t self_rows, int64_t begin, int64_t end) {
    if (begin >= end) return;
    PickedRows rest = picked;
    rest.indptr += first;
    ScaledSumOfRows(rest, by_source.reciprocals.data(), self, self_rows, begin - first, end - first,
                    {out.data + first * out.stride, out.stride});
  };
  at::parallel_for(0, num_sources, kRowGrain, [&](int64_t begin, int64_t end) {
    sum(0, 0, begin, std::min(end, self_begin));
    sum(self_begin, std::max<int64_t>(self_end - self_begin, 0), std::max(begin, self_begin), end);
  });
  return grad_h;
}

class RelationalFunction : public torch::autograd::Function<RelationalFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const torch::Tensor& coefficients, const torch::Tensor& groups,
                               const torch::Tensor& relations, const torch::Tensor& indptr,
                               const torch::Tensor& sources, FirstSelf first_self) {
    const RelationalTensors block = {groups, relations, indptr, sources};
    const int64_t rows = groups.size(0) - 1;
    const int64_t cols = h.size(1);
    const int64_t parts = coefficients.size(1) + (first_self >= 0 ? 1 : 0);
    const torch::Tensor out = torch::empty({rows, parts * cols}, torch::kFloat32);
    const torch::Tensor means = torch::empty({relations.size(0), cols}, torch::kFloat32);
    const PickedRows picked = PickOf(block, h);
    at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += kMeansAhead) {
        FillRows(picked, BasesOf(block, coefficients), first, std::min(first + kMeansAhead, end),
                 MutableRowsOf(means), MutableRowsOf(out), first_self);
      }
    });
    context->save_for_backward({coefficients, groups, relations, indptr, sources, means});
    context->saved_data["num_sources"] = h.size(0);
    context->saved_data["input_gradient"] = h.requires_grad();
    context->saved_data["first_self"] = first_self;
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const RelationalTensors block = {saved[1], saved[2], saved[3], saved[4]};
    const torch::Tensor grad = grads[0].contiguous();
    torch::Tensor means_grad, grad_h;
    if (context->saved_data["input_gradient"].toBool()) means_grad = torch::empty_like(saved[5]);
    const torch::Tensor coefficients_grad =
        BackToGroups(block, saved[0], saved[5], grad, means_grad);
    if (means_grad.defined()) {
      grad_h = BackToInputs(block, means_grad, grad, context->saved_data["num_sources"].toInt(),
                            context->saved_data["first_self"].toInt());
    }
    return {grad_h,          coefficients_grad, torch::Tensor(), torch::Tensor(),
            torch::Tensor(), torch::Tensor(),   torch::Tensor()};
  }
};

// The layer: rows of the aggregate are multiplied while they are in a cache.
class RelationalLayerFunction : public torch::autograd::Function<RelationalLayerFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const RelationalTensors& block, const torch::Tensor& coefficients,
                               const torch::Tensor& bases, const torch::Tensor& self,
                               const torch::Tensor& bias, FirstSelf first_self,
                               const LayerOutput& output, bool training) {
    const int64_t rows = block.groups.size(0) - 1;
    const torch::Tensor x = RowsWithRoom(rows, (coefficients.size(1) + 1) * h.size(1));
    const torch::Tensor means = torch::empty({block.relations.size(0), h.size(1)}, torch::kFloat32);
    const PickedRows picked = PickOf(block, h);
    const DenseResult result = DenseForward(
        x,
        [&](int64_t begin, int64_t end) {
          FillRows(picked, BasesOf(block, coefficients), begin, end, MutableRowsOf(means),
                   MutableRowsOf(x), first_self);
        },
        WeightsOf(bases, self), bias, output, training);
    if (training) {
      context->save_for_backward({coefficients, block.groups, block.relations, block.indptr,
                                  block.sources, means, x, bases, self, result.mask});
      context->saved_data["num_sources"] = h.size(0);
      context->saved_data["input_gradient"] = h.requires_grad();
      context->saved_data["first_self"] = first_self;
      context->saved_data["scale"] = static_cast<double>(output.dropout.scale());
    }
    return result.out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const RelationalTensors block = {saved[1], saved[2], saved[3], saved[4]};
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    // The coefficients' gradient needs that of the rows, whoever else does.
    DenseGradients found = DenseBackward(grads[0], saved[9], scale, saved[6],
                                         WeightsOf(saved[7], saved[8]), /*x_wanted=*/true);
    torch::Tensor means_grad, grad_h;
    if (context->saved_data["input_gradient"].toBool()) means_grad = torch::empty_like(saved[5]);
    const torch::Tensor coefficients_grad =
        BackToGroups(block, saved[0], saved[5], found.x, means_grad);
    if (means_grad.defined()) {
      grad_h = BackToInputs(block, means_grad, found.x, context->saved_data["num_sources"].toInt(),
                            context->saved_data["first_self"].toInt());
    }
    const torch::Tensor self_grad = found.weights.back();
    found.weights.pop_back();
    return {grad_h,         torch::Tensor(), coefficients_grad, torch::stack(found.weights),
            self_grad,      found.bias,      torch::Tensor(),   torch::Tensor(),
            torch::Tensor()};
  }

 private:
  static std::vector<torch::Tensor> WeightsOf(const torch::Tensor& bases,
                                              const torch::Tensor& self) {
    std::vector<torch::Tensor> weights = bases.unbind(0);
    weights.push_back(self);
    return weights;
  }
};

void CheckRelationalWeights(const torch::Tensor& h, const RelationalWeights& weights) {
  const int64_t out = weights.self.size(0);
  TORCH_CHECK(weights.self.dim() == 2 && weights.self.size(1) == h.size(1) &&
                  weights.bases.dim() == 3 && weights.bases.size(1) == out &&
                  weights.bases.size(2) == h.size(1) && weights.bias.dim() == 1 &&
                  weights.bias.size(0) == out &&
                  weights.bases.size(0) == weights.coefficients.size(1),
              "RelationalLayer: bases ", weights.bases.sizes(), ", self ", weights.self.sizes(),
              " and bias ", weights.bias.sizes(), " do not fit ", h.size(1),
              " columns of inputs and ", weights.coefficients.size(1), " bases");
}

}  // namespace

torch::Tensor RelationalAggregate(const torch::Tensor& h, const RelationalBlock& block,
                                  const torch::Tensor& coefficients,
                                  std::optional<int64_t> first_self) {
  CheckRelationalShapes(h, block, coefficients, first_self.value_or(-1));
  CheckLayerInput(h, "RelationalAggregate");
  CheckLayerInput(coefficients, "RelationalAggregate");
  return RelationalFunction::apply(h, coefficients, ViewOf(block.groups, torch::kInt64),
                                   ViewOf(block.relations, torch::kInt32),
                                   ViewOf(block.indptr, torch::kInt64),
                                   ViewOf(block.sources, torch::kInt32), first_self.value_or(-1));
}

torch::Tensor ComposedRelationalAggregate(const torch::Tensor& h, const RelationalBlock& block,
                                          const torch::Tensor& coefficients,
                                          std::optional<int64_t> first_self) {
  CheckRelationalShapes(h, block, coefficients, first_self.value_or(-1));
  const ComposedBlock edges = ComposedBlockOf(block.indptr, block.sources, h.device());
  const ComposedBlock groups = ComposedBlockOf(block.groups, block.relations, h.device());
  const torch::Tensor means =
      SumByRow(h.index_select(0, edges.sources), edges.destinations, edges.degrees.size(0)) /
      edges.degrees.unsqueeze(1);
  const torch::Tensor factors = coefficients.index_select(0, groups.sources);
  const int64_t rows = groups.degrees.size(0);
  std::vector<torch::Tensor> parts;
  for (int64_t b = 0; b < coefficients.size(1); ++b) {
    parts.push_back(SumByRow(means * factors.select(1, b).unsqueeze(1), groups.destinations, rows));
  }
  if (first_self.has_value()) parts.push_back(h.narrow(0, *first_self, rows));
  return torch::cat(parts, 1);
}

torch::Tensor RelationalLayer(const torch::Tensor& h, const RelationalBlock& block,
                              const RelationalWeights& weights, int64_t first_self,
                              const LayerOutput& output) {
  CheckRelationalShapes(h, block, weights.coefficients, first_self);
  CheckRelationalWeights(h, weights);
  CheckLayerInput(h, "RelationalLayer");
  CheckLayerInput(weights.coefficients, "RelationalLayer");
  const RelationalTensors tensors = {
      ViewOf(block.groups, torch::kInt64), ViewOf(block.relations, torch::kInt32),
      ViewOf(block.indptr, torch::kInt64), ViewOf(block.sources, torch::kInt32)};
  bool training = false;
  for (const torch::Tensor& leaf :
       {h, weights.coefficients, weights.bases, weights.self, weights.bias}) {
    training = training || (torch::GradMode::is_enabled() && leaf.requires_grad());
  }
  return RelationalLayerFunction::apply(h, tensors, weights.coefficients, weights.bases,
                                        weights.self, weights.bias, first_self, output, training);
}

torch::Tensor ComposedRelationalLayer(const torch::Tensor& h, const RelationalBlock& block,
                                      const RelationalWeights& weights, int64_t first_self) {
  const torch::Tensor x = ComposedRelationalAggregate(h, block, weights.coefficients, first_self);
  std::vector<torch::Tensor> matrices = weights.bases.unbind(0);
  matrices.push_back(weights.self);
  return torch::linear(x, torch::cat(matrices, 1), weights.bias);
}

}  // namespace halograph

#include "trainer/kernels/relational_aggregate.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/relational_parts.h"
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
  torch::Tensor groups, relations;  // views of RelationalBlock's
  BlockTensors edges;               // its groups stand for destinations
};

RelationalTensors TensorsOf(const RelationalBlock& block, const TransposedBlock* by_source) {
  return {ViewOf(block.groups, torch::kInt64), ViewOf(block.relations, torch::kInt32),
          EdgesOf(block, by_source)};
}

GroupedBases BasesOf(const RelationalTensors& block, const torch::Tensor& coefficients) {
  return {block.groups.data_ptr<int64_t>(), block.relations.data_ptr<int32_t>(),
          coefficients.data_ptr<float>(), coefficients.size(1)};
}

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
  return SumInOrder(parts);
}

// Saves what BackToArguments needs, and `more` behind it.
void SaveForBack(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                 const RelationalTensors& block, const torch::Tensor& coefficients,
                 const torch::Tensor& means, FirstSelf first_self, torch::TensorList more) {
  torch::autograd::variable_list all = {block.groups,        block.relations, block.edges.indptr,
                                        block.edges.indices, coefficients,    means};
  all.insert(all.end(), more.begin(), more.end());
  context->save_for_backward(all);
  KeepRestOf(context, block.edges);
  context->saved_data["num_sources"] = h.size(0);
  context->saved_data["input_gradient"] = h.requires_grad();
  context->saved_data["first_self"] = first_self;
}
constexpr size_t kSavedForBack = 6;  // tensors

struct ArgumentGradients {
  torch::Tensor h;  // none if it needs none
  torch::Tensor coefficients;
};

// Out of the gradient of the aggregate's rows.
ArgumentGradients BackToArguments(torch::autograd::AutogradContext* context,
                                  const torch::autograd::variable_list& saved,
                                  const torch::Tensor& grad) {
  const RelationalTensors block = {saved[0], saved[1], KeptBlock(context, saved[2], saved[3])};
  const torch::Tensor& means = saved[5];
  const bool to_inputs = context->saved_data["input_gradient"].toBool();
  torch::Tensor means_grad;
  if (to_inputs) means_grad = torch::empty_like(means);
  ArgumentGradients found;
  found.coefficients = BackToGroups(block, saved[4], means, grad, means_grad);
  if (to_inputs) {
    const int64_t cols = means.size(1);
    const auto first_self = context->saved_data["first_self"].toInt();
    found.h =
        BackToInputs(block.edges, means_grad,
                     first_self < 0 ? torch::Tensor() : grad.narrow(1, grad.size(1) - cols, cols),
                     first_self, context->saved_data["num_sources"].toInt());
  }
  return found;
}

class RelationalFunction : public torch::autograd::Function<RelationalFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const RelationalTensors& block, const torch::Tensor& coefficients,
                               FirstSelf first_self) {
    const int64_t rows = block.groups.size(0) - 1;
    const int64_t cols = h.size(1);
    const int64_t parts = coefficients.size(1) + (first_self >= 0 ? 1 : 0);
    const torch::Tensor out = torch::empty({rows, parts * cols}, torch::kFloat32);
    const torch::Tensor means = torch::empty({block.relations.size(0), cols}, torch::kFloat32);
    const PickedRows picked = PickBy(block.edges, h);
    at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += kMeansAhead) {
        FillRows(picked, BasesOf(block, coefficients), first, std::min(first + kMeansAhead, end),
                 MutableRowsOf(means), MutableRowsOf(out), first_self);
      }
    });
    SaveForBack(context, h, block, coefficients, means, first_self, {});
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const ArgumentGradients found =
        BackToArguments(context, context->get_saved_variables(), grads[0].contiguous());
    return {found.h, torch::Tensor(), found.coefficients, torch::Tensor()};
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
    const PickedRows picked = PickBy(block.edges, h);
    const DenseResult result = DenseForward(
        x,
        [&](int64_t begin, int64_t end) {
          FillRows(picked, BasesOf(block, coefficients), begin, end, MutableRowsOf(means),
                   MutableRowsOf(x), first_self);
        },
        WeightsOf(bases, self), bias, output, training);
    if (training) {
      SaveForBack(context, h, block, coefficients, means, first_self,
                  {x, bases, self, result.mask});
      context->saved_data["scale"] = static_cast<double>(output.dropout.scale());
    }
    return result.out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor* const own = saved.data() + kSavedForBack;  // x, bases, self, mask
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    // The coefficients' gradient needs that of the rows, whoever else does.
    DenseGradients dense = DenseBackward(grads[0], own[3], scale, own[0], WeightsOf(own[1], own[2]),
                                         /*x_wanted=*/true);
    const ArgumentGradients found = BackToArguments(context, saved, dense.x);
    const torch::Tensor self_grad = dense.weights.back();
    dense.weights.pop_back();
    return {found.h,        torch::Tensor(), found.coefficients, torch::stack(dense.weights),
            self_grad,      dense.bias,      torch::Tensor(),    torch::Tensor(),
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
                                  std::optional<int64_t> first_self,
                                  const TransposedBlock* by_source) {
  CheckRelationalShapes(h, block, coefficients, first_self.value_or(-1));
  CheckLayerInput(h, "RelationalAggregate");
  CheckLayerInput(coefficients, "RelationalAggregate");
  return RelationalFunction::apply(h, TensorsOf(block, by_source), coefficients,
                                   first_self.value_or(-1));
}

torch::Tensor ComposedRelationalAggregate(const torch::Tensor& h, const RelationalBlock& block,
                                          const torch::Tensor& coefficients,
                                          std::optional<int64_t> first_self) {
  CheckRelationalShapes(h, block, coefficients, first_self.value_or(-1));
  const ComposedBlock edges =
      ComposedBlockOf(block.indptr, block.sources, h.device(), block.coefficients, block.degrees);
  const ComposedBlock groups = ComposedBlockOf(block.groups, block.relations, h.device());
  const torch::Tensor means = MeanOfSourcesBy(edges, h);
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
                              const LayerOutput& output, const TransposedBlock* by_source) {
  CheckRelationalShapes(h, block, weights.coefficients, first_self);
  CheckRelationalWeights(h, weights);
  CheckLayerInput(h, "RelationalLayer");
  CheckLayerInput(weights.coefficients, "RelationalLayer");
  bool training = false;
  for (const torch::Tensor& leaf :
       {h, weights.coefficients, weights.bases, weights.self, weights.bias}) {
    training = training || (torch::GradMode::is_enabled() && leaf.requires_grad());
  }
  return RelationalLayerFunction::apply(h, TensorsOf(block, by_source), weights.coefficients,
                                        weights.bases, weights.self, weights.bias, first_self,
                                        output, training);
}

torch::Tensor ComposedRelationalLayer(const torch::Tensor& h, const RelationalBlock& block,
                                      const RelationalWeights& weights, int64_t first_self) {
  const torch::Tensor x = ComposedRelationalAggregate(h, block, weights.coefficients, first_self);
  std::vector<torch::Tensor> matrices = weights.bases.unbind(0);
  matrices.push_back(weights.self);
  return torch::linear(x, torch::cat(matrices, 1), weights.bias);
}

}  // namespace halograph

#include "trainer/kernels/basis_layer.h"

#include <algorithm>

#include "trainer/kernels/basis_rows.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/relational_parts.h"

namespace halograph {
namespace {

// The gradient of the coefficients is summed over as many chunks of destinations, each in order,
// and these in order, whatever the number of threads.
constexpr int64_t kBasisChunks = 16;

struct BasisTensors {
  torch::Tensor groups, relations;  // views of RelationalBlock's
  BlockTensors edges;               // its groups stand for destinations
  torch::Tensor basis_of;           // int64; of BasisWeights
  int64_t bases = 0;

  [[nodiscard]] int64_t num_destinations() const { return groups.size(0) - 1; }
};

BasisGroups GroupsOf(const BasisTensors& block, const torch::Tensor& coefficients, int64_t cols) {
  return {.groups = block.groups.data_ptr<int64_t>(),
          .relations = block.relations.data_ptr<int32_t>(),
          .indptr = block.edges.indptr.data_ptr<int64_t>(),
          .sources = block.edges.indices.data_ptr<int32_t>(),
          .coefficients = coefficients.numel() > 0 ? coefficients.data_ptr<float>() : nullptr,
          .basis_of = block.basis_of.data_ptr<int64_t>(),
          .bases = block.bases,
          .cols = cols,
          .edge_coefficients = ValuesOf(block.edges.coefficients),
          .degrees = ValuesOf(block.edges.degrees)};
}

void CheckBasisShapes(const torch::Tensor& rows, const RelationalBlock& block,
                      const BasisWeights& weights, int64_t first_self) {
  TORCH_CHECK(weights.bases > 0 && rows.size(1) > 0 && rows.size(1) % (weights.bases + 1) == 0,
              "BasisLayer: rows of ", rows.size(1), " columns are not those of ", weights.bases,
              " bases and the node itself");
  const torch::Tensor& a = weights.coefficients;
  if (a.defined()) {
    TORCH_CHECK(a.dim() == 2 && a.size(0) == block.num_relations && a.size(1) == weights.bases,
                "BasisLayer: coefficients are ", a.sizes(), ", the block needs [",
                block.num_relations, ", ", weights.bases, "]");
    CheckLayerInput(a, "BasisLayer");
  } else {
    TORCH_CHECK(static_cast<int64_t>(weights.basis_of.size()) == block.num_relations,
                "BasisLayer: ", weights.basis_of.size(), " relations have a basis, the block has ",
                block.num_relations);
  }
  const auto count = static_cast<int64_t>(block.groups.size()) - 1;
  TORCH_CHECK(first_self >= 0 && first_self + count <= rows.size(0), "BasisLayer: rows ",
              first_self, " to ", first_self + count, " of ", rows.size(0), " for itself");
}

// One a group.
std::vector<int32_t> DestinationsOf(const BasisTensors& block) {
  const auto* const groups = block.groups.data_ptr<int64_t>();
  std::vector<int32_t> destinations(static_cast<size_t>(block.relations.size(0)));
  for (int64_t v = 0; v < block.num_destinations(); ++v) {
    std::fill(destinations.begin() + groups[v], destinations.begin() + groups[v + 1],
              static_cast<int32_t>(v));
  }
  return destinations;
}

torch::Tensor BackToRows(const BasisTensors& block, const BasisGroups& of,
                         const torch::Tensor& rows, const torch::Tensor& grad, int64_t first_self) {
  TransposedBlock own;
  const TransposedBlock& by_source = GivenOrMade(block.edges, rows.size(0), &own);
  const std::vector<int32_t> destinations = DestinationsOf(block);
  const GroupsOfSources sources = {by_source.indptr.data(), by_source.destinations.data(),
                                   destinations.data(), DataOrNull(by_source.coefficients)};
  const torch::Tensor rows_grad = torch::empty_like(rows);
  const MutableRows out = MutableRowsOf(rows_grad);
  const ConstRows of_out = ConstRowsOf(grad);
  const int64_t cols = of.cols;
  at::parallel_for(0, rows.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
    std::fill(out.data + begin * out.stride, out.data + end * out.stride, 0.0F);
    AddBasisRowsBackward(of, sources, of_out, begin, end, out);
    for (int64_t u = std::max(begin, first_self);
         u < std::min(end, first_self + block.num_destinations()); ++u) {
      std::copy_n(of_out.data + (u - first_self) * of_out.stride, cols,
                  out.data + u * out.stride + of.bases * cols);
    }
  });
  return rows_grad;
}

torch::Tensor BackToCoefficients(const BasisGroups& of, const torch::Tensor& coefficients,
                                 const torch::Tensor& rows, const torch::Tensor& grad) {
  const int64_t count = grad.size(0);
  const torch::Tensor parts =
      torch::zeros({kBasisChunks, coefficients.size(0), coefficients.size(1)});
  auto* const part = parts.data_ptr<float>();
  at::parallel_for(0, kBasisChunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      AddCoefficientsGradient(of, ConstRowsOf(rows), ConstRowsOf(grad),
                              chunk * count / kBasisChunks, (chunk + 1) * count / kBasisChunks,
                              part + chunk * coefficients.numel());
    }
  });
  return SumInOrder(parts);
}

// Coefficients without values: each relation takes one basis.
class BasisFunction : public torch::autograd::Function<BasisFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& rows,
                               const torch::Tensor& coefficients, const BasisTensors& block,
                               int64_t first_self) {
    const int64_t cols = rows.size(1) / (block.bases + 1);
    const int64_t count = block.num_destinations();
    const torch::Tensor out = rows.narrow(0, first_self, count)
                                  .narrow(1, block.bases * cols, cols)
                                  .clone(at::MemoryFormat::Contiguous);
    const BasisGroups of = GroupsOf(block, coefficients, cols);
    at::parallel_for(0, count, kRowGrain, [&](int64_t begin, int64_t end) {
      AddBasisRows(of, ConstRowsOf(rows), begin, end, MutableRowsOf(out));
    });
    context->save_for_backward({rows, coefficients, block.groups, block.relations,
                                block.edges.indptr, block.edges.indices, block.basis_of});
    KeepRestOf(context, block.edges);
    context->saved_data["bases"] = block.bases;
    context->saved_data["first_self"] = first_self;
    context->saved_data["rows_gradient"] = rows.requires_grad();
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& rows = saved[0];
    const torch::Tensor& coefficients = saved[1];
    const BasisTensors block = {saved[2], saved[3], KeptBlock(context, saved[4], saved[5]),
                                saved[6], context->saved_data["bases"].toInt()};
    const torch::Tensor grad = grads[0].contiguous();
    const BasisGroups of = GroupsOf(block, coefficients, grad.size(1));
    torch::Tensor rows_grad, coefficients_grad;
    if (context->saved_data["rows_gradient"].toBool()) {
      rows_grad = BackToRows(block, of, rows, grad, context->saved_data["first_self"].toInt());
    }
    if (coefficients.numel() > 0) {
      coefficients_grad = BackToCoefficients(of, coefficients, rows, grad);
    }
    return {rows_grad, coefficients_grad, torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor BasisLayer(const torch::Tensor& rows, const RelationalBlock& block,
                         const BasisWeights& weights, int64_t first_self,
                         const TransposedBlock* by_source) {
  CheckLayerInput(rows, "BasisLayer");
  CheckBasisShapes(rows, block, weights, first_self);
  const BasisTensors tensors = {ViewOf(block.groups, torch::kInt64),
                                ViewOf(block.relations, torch::kInt32), EdgesOf(block, by_source),
                                torch::tensor(weights.basis_of, torch::kInt64), weights.bases};
  // A Function takes no undefined tensor.
  const torch::Tensor none = torch::empty({0, 0});
  return BasisFunction::apply(rows, weights.coefficients.defined() ? weights.coefficients : none,
                              tensors, first_self);
}

}  // namespace halograph

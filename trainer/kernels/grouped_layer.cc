#include "trainer/kernels/grouped_layer.h"

#include "trainer/kernels/grouped_parts.h"
#include "trainer/kernels/relational_parts.h"

namespace halograph {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

class GroupedFunction : public torch::autograd::Function<GroupedFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& h,
                               const GroupTensors& groups, const torch::Tensor& matrices,
                               const torch::Tensor& self, const torch::Tensor& bias,
                               const LayerNodes& nodes, const LayerOutput& output,
                               Precision precision, bool training) {
    const GroupedRows rows =
        GroupedForward(h, groups, {matrices, self, bias}, nodes, output, precision, training);
    if (training) {
      context->save_for_backward({groups.relations, groups.destinations, groups.matrix_of,
                                  groups.edges.indptr, groups.edges.indices, rows.mask, rows.means,
                                  rows.own, matrices, self});
      KeepRestOf(context, groups.edges);
      context->saved_data["scale"] = static_cast<double>(output.dropout.scale());
      context->saved_data["num_sources"] = h.size(0);
      context->saved_data["first_self"] = nodes.first;
      context->saved_data["input_gradient"] = h.requires_grad();
    }
    return rows.out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const GroupTensors groups = {saved[0], saved[1], saved[2],
                                 KeptBlock(context, saved[3], saved[4])};
    const bool to_inputs = context->saved_data["input_gradient"].toBool();
    const GroupedGradients found =
        GroupedBackward(grads[0], {{}, saved[5], saved[6], saved[7]},
                        static_cast<float>(context->saved_data["scale"].toDouble()), groups,
                        saved[8], saved[9], to_inputs);
    torch::Tensor grad_h;
    if (to_inputs) {
      grad_h = BackToInputs(groups.edges, found.means, found.own,
                            context->saved_data["first_self"].toInt(),
                            context->saved_data["num_sources"].toInt());
    }
    const torch::Tensor none;
    return {grad_h, none, found.matrices, found.self, found.bias, none, none, none, none};
  }
};

void CheckGrouped(const torch::Tensor& h, const RelationGroups& groups,
                  const std::vector<int64_t>& matrix_of, const GroupedWeights& weights,
                  const LayerNodes& nodes) {
  CheckLayerInput(h, "GroupedLayer");
  const torch::Tensor &matrices = weights.matrices, &self = weights.self;
  TORCH_CHECK(matrices.dim() == 4 && self.dim() == 2 && weights.bias.dim() == 1 &&
                  self.size(1) == h.size(1) && weights.bias.size(0) == self.size(0) &&
                  matrices.size(1) * matrices.size(2) == self.size(0) &&
                  matrices.size(1) * matrices.size(3) == self.size(1),
              "GroupedLayer: matrices ", matrices.sizes(), ", self ", self.sizes(), " and bias ",
              weights.bias.sizes(), " do not fit ", h.size(1), " columns of inputs");
  TORCH_CHECK(matrix_of.size() + 1 == groups.relations.size(), "GroupedLayer: ", matrix_of.size(),
              " relations have a matrix, the groups are of ", groups.relations.size() - 1);
  for (const int64_t matrix : matrix_of) {
    TORCH_CHECK(matrix >= 0 && matrix < matrices.size(0), "GroupedLayer: there is no matrix ",
                matrix, " of ", matrices.size(0));
  }
  TORCH_CHECK(nodes.first >= 0 && nodes.first + nodes.count <= h.size(0), "GroupedLayer: rows ",
              nodes.first, " to ", nodes.first + nodes.count, " of ", h.size(0),
              " inputs for the nodes themselves");
  for (const int64_t v : groups.destinations) {
    TORCH_CHECK(v >= 0 && v < nodes.count, "GroupedLayer: a group is of node ", v, " of ",
                nodes.count);
  }
}

}  // namespace

torch::Tensor GroupedLayer(const torch::Tensor& h, const RelationGroups& groups,
                           const std::vector<int64_t>& matrix_of, const GroupedWeights& weights,
                           const LayerNodes& nodes, const LayerOutput& output, Precision precision,
                           const TransposedBlock* by_source) {
  CheckGrouped(h, groups, matrix_of, weights, nodes);
  const GroupTensors tensors = {
      ViewOf(groups.relations, torch::kInt64), ViewOf(groups.destinations, torch::kInt64),
      torch::tensor(matrix_of, torch::kInt64), TensorsOf(groups.edges, by_source)};
  bool training = false;
  for (const torch::Tensor& leaf : {h, weights.matrices, weights.self, weights.bias}) {
    training = training || (torch::GradMode::is_enabled() && leaf.requires_grad());
  }
  return GroupedFunction::apply(h, tensors, weights.matrices, weights.self, weights.bias, nodes,
                                output, precision, training);
}

}  // namespace halograph

#include "trainer/kernels/attention.h"

#include <limits>
#include <vector>

#include "trainer/blocks/block_transpose.h"
#include "trainer/kernels/attention_rows.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/composed_block.h"

namespace halograph {
namespace {

// Throws unless the shapes fit each other and the block.
void CheckAttentionShapes(const AttentionInput& input, int64_t destinations) {
  const torch::Tensor& z = input.projected;
  const torch::Tensor& source = input.source_scores;
  const torch::Tensor& destination = input.destination_scores;
  TORCH_CHECK(z.dim() == 2 && source.dim() == 2 && destination.dim() == 2,
              "Attend needs matrices: projected, source_scores and destination_scores");
  const int64_t heads = source.size(1);
  TORCH_CHECK(heads > 0 && z.size(1) > 0 && z.size(1) % heads == 0, "Attend: ", z.size(1),
              " projected columns are no multiple of ", heads, " heads");
  TORCH_CHECK(source.size(0) == z.size(0), "Attend: scores of ", source.size(0),
              " sources for projected rows of ", z.size(0));
  TORCH_CHECK(destination.size(0) == destinations && destination.size(1) == heads,
              "Attend: destination_scores are ", destination.sizes(), ", the block needs [",
              destinations, ", ", heads, "]");
}

AttentionScores ScoresOf(const torch::Tensor& source, const torch::Tensor& destination,
                         double slope) {
  return {source.data_ptr<float>(), destination.data_ptr<float>(), source.size(1),
          static_cast<float>(slope)};
}

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& z,
                               const torch::Tensor& source, const torch::Tensor& destination,
                               const torch::Tensor& indptr, const torch::Tensor& indices,
                               double slope) {
    const int64_t rows = indptr.size(0) - 1;
    const torch::Tensor out = torch::empty({rows, z.size(1)}, torch::kFloat32);
    const torch::Tensor weights = torch::empty({indices.size(0), source.size(1)}, torch::kFloat32);
    const PickedRows picked = {indptr.data_ptr<int64_t>(), indices.data_ptr<int32_t>(),
                               ConstRowsOf(z), z.size(1)};
    const AttentionScores scores = ScoresOf(source, destination, slope);
    const MutableRows sums = MutableRowsOf(out);
    auto* weight = weights.data_ptr<float>();
    at::parallel_for(0, rows, kRowGrain, [&](int64_t begin, int64_t end) {
      AttendRows(picked, scores, begin, end, weight, sums);
    });
    context->save_for_backward({z, source, destination, indptr, indices, weights});
    context->saved_data["slope"] = slope;
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& z = saved[0];
    const torch::Tensor& weights = saved[5];
    const torch::Tensor grad = grads[0].contiguous();
    const torch::Tensor edge_grad = torch::empty_like(weights);
    const torch::Tensor destination_grad = torch::empty_like(saved[2]);
    BackToEdges(saved, context->saved_data["slope"].toDouble(), grad, edge_grad, destination_grad);
    const torch::Tensor grad_z = torch::empty_like(z);
    const torch::Tensor source_grad = torch::empty_like(saved[1]);
    BackToSources(saved, grad, edge_grad, grad_z, source_grad);
    return {grad_z,          source_grad,     destination_grad,
            torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }

 private:
  using Saved = torch::autograd::variable_list;

  static void BackToEdges(const Saved& saved, double slope, const torch::Tensor& grad,
                          const torch::Tensor& edge_grad, const torch::Tensor& destination_grad) {
    const torch::Tensor& z = saved[0];
    const PickedRows picked = {saved[3].data_ptr<int64_t>(), saved[4].data_ptr<int32_t>(),
                               ConstRowsOf(z), z.size(1)};
    const AttentionScores scores = ScoresOf(saved[1], saved[2], slope);
    const auto* weights = saved[5].data_ptr<float>();
    auto* to_edges = edge_grad.data_ptr<float>();
    auto* to_destinations = destination_grad.data_ptr<float>();
    at::parallel_for(0, grad.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
      AttendRowsBackward(picked, scores, weights, ConstRowsOf(grad), begin, end, to_edges,
                         to_destinations);
    });
  }

  static void BackToSources(const Saved& saved, const torch::Tensor& grad,
                            const torch::Tensor& edge_grad, const torch::Tensor& grad_z,
                            const torch::Tensor& source_grad) {
    const auto* indices = saved[4].data_ptr<int32_t>();
    const TransposedBlock by_source =
        Transpose(saved[3].data_ptr<int64_t>(), grad.size(0), indices, grad_z.size(0));
    const std::vector<int32_t> edges = EdgesBySource(by_source, indices);
    const PickedRows picked = {by_source.indptr.data(), by_source.destinations.data(),
                               ConstRowsOf(grad), grad.size(1)};
    const int64_t heads = edge_grad.size(1);
    const auto* weights = saved[5].data_ptr<float>();
    const auto* from_edges = edge_grad.data_ptr<float>();
    const MutableRows out = MutableRowsOf(grad_z);
    auto* to_sources = source_grad.data_ptr<float>();
    at::parallel_for(0, grad_z.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
      AttendSourcesBackward(picked, edges.data(), heads, weights, from_edges, begin, end, out,
                            to_sources);
    });
  }
};

}  // namespace

torch::Tensor Attend(const AttentionInput& input, const Block& block) {
  CheckAttentionShapes(input, static_cast<int64_t>(block.indptr.size()) - 1);
  for (const torch::Tensor& tensor :
       {input.projected, input.source_scores, input.destination_scores}) {
    CheckLayerInput(tensor, "Attend");
  }
  const BlockTensors tensors = TensorsOf(block);
  return AttentionFunction::apply(input.projected, input.source_scores, input.destination_scores,
                                  tensors.indptr, tensors.indices, input.negative_slope);
}

torch::Tensor ComposedAttend(const AttentionInput& input, const Block& block) {
  const ComposedBlock edges =
      ComposedBlockOf(block.indptr, block.indices, input.projected.device());
  const int64_t rows = edges.degrees.size(0);
  CheckAttentionShapes(input, rows);
  const int64_t heads = input.source_scores.size(1);
  const torch::Tensor scores =
      torch::leaky_relu(input.source_scores.index_select(0, edges.sources) +
                            input.destination_scores.index_select(0, edges.destinations),
                        input.negative_slope);
  const torch::Tensor by_head = edges.destinations.unsqueeze(1).expand_as(scores);
  const torch::Tensor most =
      torch::full({rows, heads}, -std::numeric_limits<double>::infinity(), scores.options())
          .scatter_reduce(0, by_head, scores.detach(), "amax");
  const torch::Tensor powers = torch::exp(scores - most.index_select(0, edges.destinations));
  const torch::Tensor sums = SumByRow(powers, edges.destinations, rows);
  const torch::Tensor weights = powers / sums.index_select(0, edges.destinations);
  const torch::Tensor picked = input.projected.index_select(0, edges.sources);
  const torch::Tensor weighted =
      picked.view({picked.size(0), heads, picked.size(1) / heads}) * weights.unsqueeze(2);
  return SumByRow(weighted.view(picked.sizes()), edges.destinations, rows);
}

}  // namespace halograph

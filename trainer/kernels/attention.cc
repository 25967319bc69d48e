#include "trainer/kernels/attention.h"

#include "trainer/kernels/attention_parts.h"
#include "trainer/kernels/attention_scores.h"
#include "trainer/kernels/device_sums.h"

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

AdditiveScores ScoresOf(const torch::Tensor& source, const torch::Tensor& destination,
                        double slope) {
  return {source.data_ptr<float>(), destination.data_ptr<float>(), source.size(1),
          static_cast<float>(slope)};
}

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& z,
                               const torch::Tensor& source, const torch::Tensor& destination,
                               const BlockTensors& block, double slope, const Dropout& dropout) {
    const auto* indptr = block.indptr.data_ptr<int64_t>();
    const auto* indices = block.indices.data_ptr<int32_t>();
    const AdditiveScores scores = ScoresOf(source, destination, slope);
    EdgeWeights weights;
    torch::Tensor out = AttendForward(
        z, block, scores.heads,
        [&](int64_t begin, int64_t end, float* to) {
          ScoreEdges(scores, indptr, indices, begin, end, to);
        },
        dropout, &weights);
    context->save_for_backward(
        {z, source, destination, block.indptr, block.indices, weights.all, weights.kept});
    KeepRestOf(context, block);
    KeepDropout(context, dropout);
    context->saved_data["slope"] = slope;
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& z = saved[0];
    const BlockTensors block = KeptBlock(context, saved[3], saved[4]);
    const AdditiveScores scores =
        ScoresOf(saved[1], saved[2], context->saved_data["slope"].toDouble());
    TransposedBlock own;
    const TransposedBlock& by_source = GivenOrMade(block, z.size(0), &own);
    const AttentionGradients found = AttendBackward(grads[0].contiguous(), z, block, by_source,
                                                    {saved[5], saved[6]}, KeptDropout(context));
    const torch::Tensor source_grad = torch::empty_like(saved[1]);
    const torch::Tensor destination_grad = torch::empty_like(saved[2]);
    const auto* indptr = block.indptr.data_ptr<int64_t>();
    const auto* indices = block.indices.data_ptr<int32_t>();
    auto* of_edges = found.scores.data_ptr<float>();
    auto* to_sources = source_grad.data_ptr<float>();
    auto* to_destinations = destination_grad.data_ptr<float>();
    at::parallel_for(0, block.num_destinations(), kRowGrain, [&](int64_t begin, int64_t end) {
      ScoreEdgesBackward(scores, indptr, indices, begin, end, of_edges, to_destinations);
    });
    at::parallel_for(0, z.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
      SumEdgesBySource(by_source, scores.heads, of_edges, begin, end, to_sources);
    });
    return {found.projected, source_grad,     destination_grad,
            torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor Attend(const AttentionInput& input, const Block& block,
                     const TransposedBlock* by_source) {
  return Attend(input, TensorsOf(block, by_source));
}

torch::Tensor Attend(const AttentionInput& input, const BlockTensors& block) {
  CheckAttentionShapes(input, block.num_destinations());
  for (const torch::Tensor& tensor :
       {input.projected, input.source_scores, input.destination_scores}) {
    CheckLayerInput(tensor, "Attend");
  }
  return AttentionFunction::apply(input.projected, input.source_scores, input.destination_scores,
                                  block, input.negative_slope, input.dropout);
}

torch::Tensor Attend(const AttentionInput& input, const BlockOnDevice& block) {
  CheckAttentionShapes(input, block.num_destinations());
  const torch::Tensor scores =
      torch::leaky_relu(RowsOfSources(input.source_scores, block) +
                            RowsOfDestinations(input.destination_scores, block),
                        input.negative_slope);
  return AttendByScoresOnDevice(input.projected, block, scores, input.dropout);
}

torch::Tensor ComposedAttend(const AttentionInput& input, const Block& block) {
  const ComposedBlock edges = ComposedBlockOf(block, input.projected.device());
  CheckAttentionShapes(input, edges.degrees.size(0));
  const torch::Tensor scores =
      torch::leaky_relu(input.source_scores.index_select(0, edges.sources) +
                            input.destination_scores.index_select(0, edges.destinations),
                        input.negative_slope);
  return ComposedAttendByScores(input.projected, edges, scores, input.dropout);
}

}  // namespace halograph

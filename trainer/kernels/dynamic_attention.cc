#include "trainer/kernels/dynamic_attention.h"

#include "trainer/kernels/attention_parts.h"
#include "trainer/kernels/attention_scores.h"
#include "trainer/kernels/device_sums.h"

namespace halograph {
namespace {

// The gradient of the vector is summed over as many chunks of destinations, each in order, and
// these in order, whatever the number of threads.
constexpr int64_t kVectorChunks = 16;

// Throws unless the shapes fit each other and the block.
void CheckDynamicShapes(const DynamicAttentionInput& input, int64_t rows) {
  const torch::Tensor& sources = input.sources;
  const torch::Tensor& destinations = input.destinations;
  const torch::Tensor& vector = input.vector;
  TORCH_CHECK(sources.dim() == 2 && destinations.dim() == 2 && vector.dim() == 2,
              "DynamicAttend needs matrices: sources, destinations and vector");
  TORCH_CHECK(vector.numel() > 0 && vector.numel() == sources.size(1),
              "DynamicAttend: ", sources.size(1), " columns of sources for a vector of ",
              vector.sizes());
  TORCH_CHECK(destinations.size(0) == rows && destinations.size(1) == sources.size(1),
              "DynamicAttend: destinations are ", destinations.sizes(), ", the block needs [", rows,
              ", ", sources.size(1), "]");
}

DynamicScores DynamicScoresOf(const torch::Tensor& sources, const torch::Tensor& destinations,
                              const torch::Tensor& vector, double slope) {
  return {ConstRowsOf(sources),     ConstRowsOf(destinations),
          vector.data_ptr<float>(), sources.size(1),
          vector.size(0),           static_cast<float>(slope)};
}

class DynamicAttentionFunction : public torch::autograd::Function<DynamicAttentionFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& sources, const torch::Tensor& destinations,
                               const torch::Tensor& vector, const BlockTensors& block, double slope,
                               const Dropout& dropout) {
    const auto* indptr = block.indptr.data_ptr<int64_t>();
    const auto* indices = block.indices.data_ptr<int32_t>();
    const DynamicScores scores = DynamicScoresOf(sources, destinations, vector, slope);
    EdgeWeights weights;
    torch::Tensor out = AttendForward(
        sources, block, scores.heads,
        [&](int64_t begin, int64_t end, float* to) {
          ScoreEdges(scores, indptr, indices, begin, end, to);
        },
        dropout, &weights);
    context->save_for_backward(
        {sources, destinations, vector, block.indptr, block.indices, weights.all, weights.kept});
    KeepRestOf(context, block);
    KeepDropout(context, dropout);
    context->saved_data["slope"] = slope;
    return out;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& sources = saved[0];
    const BlockTensors block = KeptBlock(context, saved[3], saved[4]);
    const DynamicScores scores =
        DynamicScoresOf(sources, saved[1], saved[2], context->saved_data["slope"].toDouble());
    TransposedBlock own;
    const TransposedBlock& by_source = GivenOrMade(block, sources.size(0), &own);
    const AttentionGradients found =
        AttendBackward(grads[0].contiguous(), sources, block, by_source, {saved[5], saved[6]},
                       KeptDropout(context));
    const auto* of_scores = found.scores.data_ptr<float>();
    at::parallel_for(0, sources.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
      ScoreSourcesBackward(scores, by_source, of_scores, begin, end,
                           MutableRowsOf(found.projected));
    });
    const torch::Tensor destination_grad = torch::empty_like(saved[1]);
    const torch::Tensor vector_grad =
        BackToDestinations(scores, block, found.scores, destination_grad);
    return {found.projected, destination_grad, vector_grad.view_as(saved[2]),
            torch::Tensor(), torch::Tensor(),  torch::Tensor()};
  }

 private:
  // Fills `destination_grad`. Returns the gradient of the vector.
  static torch::Tensor BackToDestinations(const DynamicScores& scores, const BlockTensors& block,
                                          const torch::Tensor& scores_grad,
                                          const torch::Tensor& destination_grad) {
    const int64_t rows = block.num_destinations();
    const torch::Tensor parts = torch::zeros({kVectorChunks, scores.cols});
    const auto* indptr = block.indptr.data_ptr<int64_t>();
    const auto* indices = block.indices.data_ptr<int32_t>();
    const auto* of_scores = scores_grad.data_ptr<float>();
    auto* part = parts.data_ptr<float>();
    at::parallel_for(0, kVectorChunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        ScoreEdgesBackward(scores, indptr, indices, of_scores, chunk * rows / kVectorChunks,
                           (chunk + 1) * rows / kVectorChunks, MutableRowsOf(destination_grad),
                           part + chunk * scores.cols);
      }
    });
    return SumInOrder(parts);
  }
};

}  // namespace

torch::Tensor DynamicAttend(const DynamicAttentionInput& input, const Block& block,
                            const TransposedBlock* by_source) {
  return DynamicAttend(input, TensorsOf(block, by_source));
}

torch::Tensor DynamicAttend(const DynamicAttentionInput& input, const BlockTensors& block) {
  CheckDynamicShapes(input, block.num_destinations());
  for (const torch::Tensor& tensor : {input.sources, input.destinations, input.vector}) {
    CheckLayerInput(tensor, "DynamicAttend");
  }
  return DynamicAttentionFunction::apply(input.sources, input.destinations, input.vector, block,
                                         input.negative_slope, input.dropout);
}

torch::Tensor DynamicAttend(const DynamicAttentionInput& input, const BlockOnDevice& block) {
  CheckDynamicShapes(input, block.num_destinations());
  const torch::Tensor sums =
      RowsOfSources(input.sources, block) + RowsOfDestinations(input.destinations, block);
  const torch::Tensor by_head =
      torch::leaky_relu(sums, input.negative_slope)
          .view({sums.size(0), input.vector.size(0), input.vector.size(1)});
  return AttendByScoresOnDevice(input.sources, block, (by_head * input.vector).sum(2),
                                input.dropout);
}

torch::Tensor ComposedDynamicAttend(const DynamicAttentionInput& input, const Block& block) {
  const ComposedBlock edges = ComposedBlockOf(block, input.sources.device());
  CheckDynamicShapes(input, edges.degrees.size(0));
  const torch::Tensor sums = input.sources.index_select(0, edges.sources) +
                             input.destinations.index_select(0, edges.destinations);
  const torch::Tensor by_head =
      torch::leaky_relu(sums, input.negative_slope)
          .view({sums.size(0), input.vector.size(0), input.vector.size(1)});
  return ComposedAttendByScores(input.sources, edges, (by_head * input.vector).sum(2),
                                input.dropout);
}

}  // namespace halograph

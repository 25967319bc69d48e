#include "trainer/kernels/attention_parts.h"

#include <algorithm>
#include <limits>

#include "trainer/kernels/attention_rows.h"
#include "trainer/kernels/device_sums.h"

namespace halograph {
namespace {

// Destinations that are scored before their rows are summed: the rows that scores have read are
// then still in the cache.
constexpr int64_t kRowsAhead = 8;

// As SoftmaxOfEdges makes it.
torch::Tensor SoftmaxOnDevice(const torch::Tensor& scores, const BlockOnDevice& block) {
  constexpr double kLeast = -std::numeric_limits<double>::infinity();
  const bool some_may_count_nothing = block.coefficients.defined();
  torch::Tensor raised = scores;
  if (some_may_count_nothing) {
    const torch::Tensor factors = block.coefficients.unsqueeze(1);
    raised = torch::where(factors > 0, scores + factors.log(),
                          torch::full({}, kLeast, scores.options()));
  }
  torch::Tensor most = LargestOfEdges(raised, block);
  if (some_may_count_nothing) most = most.masked_fill(most == kLeast, 0);
  const torch::Tensor powers = torch::exp(raised - RowsOfDestinations(most, block));
  torch::Tensor sums = SumOfEdges(powers, block);
  if (some_may_count_nothing) sums = sums.masked_fill(sums == 0, 1);
  return powers / RowsOfDestinations(sums, block);
}

}  // namespace

torch::Tensor AttendForward(const torch::Tensor& projected, const BlockTensors& block,
                            int64_t heads, const ScoreRows& score, const Dropout& dropout,
                            EdgeWeights* weights) {
  const int64_t rows = block.num_destinations();
  torch::Tensor out = torch::empty({rows, projected.size(1)}, torch::kFloat32);
  weights->all = torch::empty({block.indices.size(0), heads}, torch::kFloat32);
  weights->kept = dropout.dropped > 0 ? torch::empty_like(weights->all) : weights->all;
  const PickedRows picked = PickBy(block, projected);
  auto* all = weights->all.data_ptr<float>();
  auto* kept = weights->kept.data_ptr<float>();
  at::parallel_for(0, rows, kRowGrain, [&](int64_t first, int64_t last) {
    for (int64_t begin = first; begin < last; begin += kRowsAhead) {
      const int64_t end = std::min(begin + kRowsAhead, last);
      score(begin, end, all);
      SoftmaxOfEdges(picked.indptr, heads, picked.coefficients, begin, end, all);
      if (kept != all) {
        DropEdges(dropout, heads, picked.indptr[begin], picked.indptr[end], all, kept);
      }
      AttendRows(picked, heads, kept, begin, end, MutableRowsOf(out));
    }
  });
  return out;
}

AttentionGradients AttendBackward(const torch::Tensor& grad, const torch::Tensor& projected,
                                  const BlockTensors& block, const TransposedBlock& by_source,
                                  const EdgeWeights& weights, const Dropout& dropout) {
  const int64_t heads = weights.all.size(1);
  AttentionGradients found = {torch::empty_like(projected), torch::empty_like(weights.all)};
  const auto* all = weights.all.data_ptr<float>();
  const auto* kept = weights.kept.data_ptr<float>();
  const auto* indptr = block.indptr.data_ptr<int64_t>();
  auto* to_edges = found.scores.data_ptr<float>();
  at::parallel_for(0, projected.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
    AttendRowsBackward(by_source, ConstRowsOf(grad), ConstRowsOf(projected), projected.size(1),
                       heads, kept, begin, end, MutableRowsOf(found.projected), to_edges);
  });
  at::parallel_for(0, block.num_destinations(), kRowGrain, [&](int64_t begin, int64_t end) {
    if (kept != all) {
      DropEdges(dropout, heads, indptr[begin], indptr[end], to_edges, to_edges);
    }
    SoftmaxOfEdgesBackward(indptr, heads, all, begin, end, to_edges);
  });
  return found;
}

void KeepDropout(torch::autograd::AutogradContext* context, const Dropout& dropout) {
  context->saved_data["dropped"] = static_cast<int64_t>(dropout.dropped);
  context->saved_data["dropout_key"] = static_cast<int64_t>(dropout.key);
}

Dropout KeptDropout(torch::autograd::AutogradContext* context) {
  return {static_cast<uint32_t>(context->saved_data["dropped"].toInt()),
          static_cast<uint64_t>(context->saved_data["dropout_key"].toInt())};
}

torch::Tensor ComposedAttendByScores(const torch::Tensor& projected, const ComposedBlock& edges,
                                     const torch::Tensor& scores, const Dropout& dropout) {
  const int64_t rows = edges.degrees.size(0), heads = scores.size(1);
  const torch::Tensor by_head = edges.destinations.unsqueeze(1).expand_as(scores);
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  // Edges of coefficient 0 are as if they were not there, whatever their scores.
  torch::Tensor counted = scores;
  if (edges.coefficients.defined()) {
    counted = scores.masked_fill(edges.coefficients.unsqueeze(1) == 0, kNone);
  }
  torch::Tensor most = torch::full({rows, heads}, kNone, scores.options())
                           .scatter_reduce(0, by_head, counted.detach(), "amax");
  most = most.masked_fill(most == kNone, 0);
  torch::Tensor powers = torch::exp(counted - most.index_select(0, edges.destinations));
  if (edges.coefficients.defined()) {
    powers = powers * edges.coefficients.to(scores.dtype()).unsqueeze(1);
  }
  torch::Tensor sums = SumByRow(powers, edges.destinations, rows);
  if (edges.coefficients.defined()) sums = sums.masked_fill(sums == 0, 1);
  torch::Tensor weights = powers / sums.index_select(0, edges.destinations);
  if (dropout.dropped > 0) {
    const torch::Tensor kept = KeptPlaces(dropout, scores.size(0), heads).to(scores.device());
    weights = torch::where(kept, weights * dropout.scale(), torch::zeros({}, weights.options()));
  }
  const torch::Tensor picked = projected.index_select(0, edges.sources);
  const torch::Tensor weighted =
      picked.view({picked.size(0), heads, picked.size(1) / heads}) * weights.unsqueeze(2);
  return SumByRow(weighted.view(picked.sizes()), edges.destinations, rows);
}

torch::Tensor AttendByScoresOnDevice(const torch::Tensor& projected, const BlockOnDevice& block,
                                     const torch::Tensor& scores, const Dropout& dropout) {
  const int64_t heads = scores.size(1);
  const torch::Tensor weights = DropOnDevice(SoftmaxOnDevice(scores, block), dropout);
  const torch::Tensor picked = RowsOfSources(projected, block);
  const torch::Tensor weighted =
      picked.view({picked.size(0), heads, picked.size(1) / heads}) * weights.unsqueeze(2);
  return SumOfEdges(weighted.view(picked.sizes()), block);
}

}  // namespace halograph

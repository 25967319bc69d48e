#include "trainer/tasks/link_scores.h"

#include <limits>

namespace halograph {

LinkScorer::LinkScorer(LinkScore score, int64_t num_relations, int64_t dim) : score_(score) {
  if (score_ == LinkScore::kDot) return;
  // Around the dot product: every relation begins near it, and differs.
  relations_ = register_parameter("relations", 1 + 0.1 * torch::randn({num_relations, dim}));
  if (score_ == LinkScore::kDistMult) return;
  hidden_ = register_module("hidden", torch::nn::Linear(dim, dim));
  last_ = register_module("last", torch::nn::Linear(dim, 1));
}

torch::Tensor LinkScorer::Queries(const torch::Tensor& ends, const torch::Tensor& relations) {
  if (score_ == LinkScore::kDot) return ends;
  return ends * torch::embedding(relations_.to(ends.device()), relations);
}

torch::Tensor LinkScorer::OfProducts(const torch::Tensor& products) {
  const auto linear = [&](const torch::Tensor& rows, const torch::nn::Linear& layer) {
    return torch::linear(rows, layer->weight.to(rows.device()), layer->bias.to(rows.device()));
  };
  return linear(torch::relu(linear(products, hidden_)), last_).squeeze(-1);
}

torch::Tensor LinkScorer::Each(const torch::Tensor& queries, const torch::Tensor& candidates) {
  const torch::Tensor products = queries * candidates;
  return score_ == LinkScore::kMlp ? OfProducts(products) : products.sum(-1);
}

torch::Tensor LinkScorer::Own(const torch::Tensor& queries, const torch::Tensor& candidates) {
  if (score_ == LinkScore::kMlp) return OfProducts(queries.unsqueeze(1) * candidates);
  return torch::bmm(candidates, queries.unsqueeze(2)).squeeze(2);
}

torch::Tensor LinkScorer::All(const torch::Tensor& queries, const torch::Tensor& candidates) {
  if (score_ != LinkScore::kMlp) return torch::mm(queries, candidates.t());
  // A few queries at a time: their products with all candidates are in memory at once.
  constexpr int64_t kValuesAtOnce = int64_t{1} << 22;
  const int64_t step =
      std::max<int64_t>(1, kValuesAtOnce / std::max<int64_t>(1, candidates.numel()));
  std::vector<torch::Tensor> rows;
  for (int64_t begin = 0; begin < queries.size(0); begin += step) {
    const torch::Tensor some = queries.narrow(0, begin, std::min(step, queries.size(0) - begin));
    rows.push_back(OfProducts(some.unsqueeze(1) * candidates.unsqueeze(0)));
  }
  return torch::cat(rows);
}

RankCounts CompareScores(const torch::Tensor& truth, const torch::Tensor& candidates) {
  constexpr double kRounding = 1e-5;
  const torch::Tensor margin = (kRounding * truth.abs()).nan_to_num(0, 0, 0);
  const torch::Tensor there = candidates != -std::numeric_limits<double>::infinity();
  // What is not below or at a bound is above it: so a score that is no number ranks last.
  const auto beyond = [&](const torch::Tensor& below_or_at) {
    return (below_or_at.logical_not() & there).sum(1);
  };
  const torch::Tensor above = beyond(candidates <= (truth + margin).unsqueeze(1));
  const torch::Tensor not_below = beyond(candidates < (truth - margin).unsqueeze(1));
  return {above, not_below - above};
}

void AddRanks(const torch::Tensor& greater, const torch::Tensor& equal, std::span<double> sums) {
  const torch::Tensor ranks = 1 + greater.to(torch::kFloat64) + equal.to(torch::kFloat64) / 2;
  sums[0] += ranks.reciprocal().sum().item<double>();
  for (size_t i = 0; i < std::size(kHitsAt); ++i) {
    sums[i + 1] += static_cast<double>((ranks <= kHitsAt[i]).sum().item<int64_t>());
  }
  sums[kRankSums - 1] += static_cast<double>(ranks.numel());
}

}  // namespace halograph

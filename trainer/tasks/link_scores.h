// The score of an edge out of the rows of its two ends (LinkScore). All kinds read the product of
// both ends, so heads are asked for as tails are: what is known of an edge makes a query, the end
// that is asked for is a candidate.
//
// Not thread-safe. Differentiable. float32. Rows may be on any device: weights that are elsewhere
// are copied to them in each call.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "trainer/options/link_options.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

class LinkScorer : public torch::nn::Module {
 public:
  // Rows of nodes are `dim` wide.
  LinkScorer(LinkScore score, int64_t num_relations, int64_t dim);

  // Queries, [n, dim], of the rows of the ends that are given, and the relation of each, int64 [n].
  [[nodiscard]] torch::Tensor Queries(const torch::Tensor& ends, const torch::Tensor& relations);

  // A candidate for each: `candidates` [n, dim]. [n].
  [[nodiscard]] torch::Tensor Each(const torch::Tensor& queries, const torch::Tensor& candidates);
  // Several for each, its own: `candidates` [n, k, dim]. [n, k].
  [[nodiscard]] torch::Tensor Own(const torch::Tensor& queries, const torch::Tensor& candidates);
  // All candidates for all: `candidates` [m, dim]. [n, m].
  [[nodiscard]] torch::Tensor All(const torch::Tensor& queries, const torch::Tensor& candidates);

 private:
  // Of products, [..., dim].
  [[nodiscard]] torch::Tensor OfProducts(const torch::Tensor& products);

  const LinkScore score_;
  torch::Tensor relations_;  // [relations, dim]; none of kDot
  torch::nn::Linear hidden_{nullptr}, last_{nullptr};
};

// How candidates compare with the true one: rank = 1 + greater + equal / 2, the mean of the
// optimistic and the pessimistic rank, as OGB has it for MRR. Scores are equal if they differ by
// less than products round: 1e-5 of the true one's.
struct RankCounts {
  torch::Tensor greater, equal;  // [n], int64
};
// `truth` [n]; `candidates` [n, m], -infinity where there is none. A truth that is no number is
// below all candidates, and a candidate that is none above every truth: a model that broke ranks
// last.
[[nodiscard]] RankCounts CompareScores(const torch::Tensor& truth, const torch::Tensor& candidates);

// Sums over answers: 1 / rank, then hits at 1, 3 and 10, then how many.
inline constexpr int64_t kHitsAt[] = {1, 3, 10};
inline constexpr std::string_view kHitsKeys[] = {"hits_at_1", "hits_at_3", "hits_at_10"};
inline constexpr size_t kRankSums = 5;
// `greater` and `equal` as RankCounts'.
void AddRanks(const torch::Tensor& greater, const torch::Tensor& equal, std::span<double> sums);

}  // namespace halograph

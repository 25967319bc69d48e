#include "trainer/tasks/link_hits.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace halograph {

torch::Tensor Greatest(const torch::Tensor& scores, int64_t count) {
  return std::get<0>(scores.topk(std::min(count, scores.numel())));
}

int64_t CountHits(const torch::Tensor& edges, const torch::Tensor& greatest, int64_t k) {
  if (greatest.numel() < k) return edges.numel();
  return (edges > greatest[k - 1]).sum().item<int64_t>();
}

std::unique_ptr<const LinkFigures> HitsFigures(const std::vector<int64_t>& at) {
  std::vector<std::string> keys;
  for (const int64_t k : at) keys.push_back(fmt::format("hits_at_{}", k));
  return std::make_unique<LinkFigures>(std::move(keys), fmt::format("hits at {}", at.front()));
}

LinkHits::LinkHits(std::vector<int64_t> at, ScoreRows score)
    : at_(std::move(at)),
      most_(*std::max_element(at_.begin(), at_.end())),
      score_(std::move(score)),
      greatest_(torch::zeros({0})) {}

void LinkHits::AddRows(const std::vector<torch::Tensor>& outputs, const Step& batch) {
  const GivenScores scores = score_(outputs, batch);
  edges_.push_back(scores.edges);
  greatest_ = Greatest(torch::cat({greatest_, scores.negatives}), most_);
}

Status LinkHits::Meet(Communicator& ranks) {
  // A row of each rank: its scores, then how many these are.
  torch::Tensor all = torch::zeros({ranks.world_size(), most_ + 1}, torch::kFloat64);
  const torch::Tensor own = all[ranks.rank()];
  own.narrow(0, 0, greatest_.numel()).copy_(greatest_);
  own[most_] = greatest_.numel();
  HG_RETURN_IF_ERROR(ranks.AllReduceSum(all, "gathering the best scores of given negatives"));
  std::vector<torch::Tensor> scores;
  for (int rank = 0; rank < ranks.world_size(); ++rank) {
    scores.push_back(all[rank].narrow(0, 0, all[rank][most_].item<int64_t>()));
  }
  greatest_ = Greatest(torch::cat(scores), most_);
  return OkStatus();
}

Status LinkHits::Finish(Communicator& /*ranks*/, std::span<double> sums) {
  if (edges_.empty()) return OkStatus();
  const torch::Tensor edges = torch::cat(edges_).to(torch::kFloat64);
  for (size_t i = 0; i < at_.size(); ++i) {
    sums[i] += static_cast<double>(CountHits(edges, greatest_, at_[i]));
  }
  sums[at_.size()] += static_cast<double>(edges.numel());
  return OkStatus();
}

}  // namespace halograph

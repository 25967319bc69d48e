// Hits at K against negatives that the data gives, as OGB's evaluator has it for ogbl-collab, -ppa
// and -ddi: the share of a set's edges whose score is strictly greater than the K-th greatest of
// all negatives given with the set; 1 where fewer than K are given. All edges are held against the
// same list, whatever their relation or ends.
//
// A rank scores its share of the rows, as they come in minibatches. Then ranks give each other the
// scores of their best negatives, as many as the largest K, and how many they have: one sum over
// ranks. Scores are compared as they are, without the margin that ranks among nodes have, so a
// figure is that of OGB's evaluator of the same scores, for every number of ranks.
// Memory on every rank: 4 bytes an edge of its own; 8 bytes times ranks times the largest K.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "trainer/distributed/communicator.h"
#include "trainer/tasks/link_figures.h"
#include "trainer/tasks/task.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Scores of rows: [edges] and [negatives].
struct GivenScores {
  torch::Tensor edges, negatives;
};

// The `count` greatest of `scores` [n], or all of fewer: descending. One that is no number is
// greater than every other.
[[nodiscard]] torch::Tensor Greatest(const torch::Tensor& scores, int64_t count);

// How many of `edges` [n] are hits at k. `greatest`: of all negatives, as Greatest has them, k at
// least where there are as many. A score that is no number is no hit.
[[nodiscard]] int64_t CountHits(const torch::Tensor& edges, const torch::Tensor& greatest,
                                int64_t k);

// hits_at_K of each K.
[[nodiscard]] std::unique_ptr<const LinkFigures> HitsFigures(const std::vector<int64_t>& at);

// The evaluation of a set: the sums of HitsFigures.
class LinkHits final : public NodeSweep {
 public:
  // Called with each minibatch of the set.
  using ScoreRows =
      std::function<GivenScores(const std::vector<torch::Tensor>& outputs, const Step& batch)>;
  LinkHits(std::vector<int64_t> at, ScoreRows score);

  void AddRows(const std::vector<torch::Tensor>& outputs, const Step& batch) override;
  [[nodiscard]] Status Meet(Communicator& ranks) override;
  [[nodiscard]] std::vector<int> node_types() const override { return {}; }
  void AddNodes(int /*type*/, const std::vector<torch::Tensor>& /*outputs*/,
                const Step& /*batch*/) override {}
  [[nodiscard]] Status Finish(Communicator& ranks, std::span<double> sums) override;

 private:
  const std::vector<int64_t> at_;
  const int64_t most_;  // of at_
  const ScoreRows score_;
  std::vector<torch::Tensor> edges_;  // scores of this rank's, by minibatch
  torch::Tensor greatest_;            // of negatives: this rank's; after Meet all ranks'
};

}  // namespace halograph

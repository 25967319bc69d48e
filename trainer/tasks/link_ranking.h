// Ranks of a set's edges among all nodes of the type that is asked for, but those of other known
// edges: filtered MRR and hits (Bordes and others 2013). Composed of two passes of evaluation:
//   1. over the set: each edge leaves a query (what is known of it) and its score. Ranks then give
//      each other theirs, one sum over ranks.
//   2. over all nodes of these types, each rank over its share, in minibatches as any other: the
//      nodes of a minibatch are scored for all queries, counted, and forgotten. So no embedding is
//      computed twice, and none is kept.
// Memory on every rank: (dim + 8) numbers a query, of the whole set; of scores at most
// kScoresAtOnce.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/distributed/communicator.h"
#include "trainer/seeds/known_edges.h"
#include "trainer/seeds/seed_source.h"
#include "trainer/tasks/link_scores.h"
#include "trainer/tasks/task.h"

namespace halograph {

// One answer that is asked for.
struct LinkQuery {
  int64_t candidate_type = 0;  // of nodes
  int64_t relation = 0;
  int64_t tails = 0;  // 1: the tail is asked for; 0: the head
  int64_t given = 0;  // global id of the end that is known
};
inline constexpr int64_t kLinkQueryFields = 4;

class LinkRanking final : public NodeSweep {
 public:
  // Called with each minibatch of the set: appends the queries of its rows, their rows [n, dim] and
  // the scores of the true answers [n].
  using AskRows = std::function<void(
      const std::vector<torch::Tensor>& outputs, const Step& batch, std::vector<LinkQuery>* queries,
      std::vector<torch::Tensor>* rows, std::vector<torch::Tensor>* truths)>;
  // `source`: of the set; `ends` answers are asked for of each row. All must outlive it.
  LinkRanking(const SeedSource* source, int64_t ends, LinkScorer* scorer, const KnownEdges* known,
              AskRows ask);

  void AddRows(const std::vector<torch::Tensor>& outputs, const Step& batch) override;
  [[nodiscard]] Status Meet(Communicator& ranks) override;
  [[nodiscard]] std::vector<int> node_types() const override { return types_; }
  void AddNodes(int type, const std::vector<torch::Tensor>& outputs, const Step& batch) override;
  [[nodiscard]] Status Finish(Communicator& ranks, std::span<double> sums) override;

 private:
  static constexpr int64_t kScoresAtOnce = int64_t{1} << 22;

  void Count(const torch::Tensor& nodes, std::span<const int64_t> ids, IdRange queries);
  [[nodiscard]] std::span<const KnownEdges::Entry> KnownOf(int64_t query) const;

  const SeedSource* const source_;
  const int64_t ends_;
  LinkScorer* const scorer_;
  const KnownEdges* const known_;
  const AskRows ask_;
  std::vector<LinkQuery> queries_;            // before Meet: this rank's
  std::vector<torch::Tensor> rows_, truths_;  // likewise, by minibatch
  // After Meet: of all ranks.
  IdRange own_ = {};
  std::vector<int> types_;
  torch::Tensor all_rows_, all_truths_;  // [queries, dim], [queries]
  torch::Tensor counts_;                 // float64 [2, queries]: greater, equal
};

}  // namespace halograph

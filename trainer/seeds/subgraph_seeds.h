// Rows of subgraphs: a subgraph is drawn without seeds, and a step is about the rows whose node is
// in it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "client/graph_store.h"
#include "common/base/cancel.h"
#include "common/base/status.h"
#include "trainer/seeds/labeled_seeds.h"
#include "trainer/seeds/seed_source.h"

namespace halograph {

// Without the rows of nodes that no edge of `relation` leads to: what draws by degree, or of edges,
// never has them. `rows`: of the relation's node type, sorted by seed. Errors as GraphStore::Ask.
[[nodiscard]] StatusOr<LabeledSeeds> RowsWithEdges(GraphStore& graph, int relation,
                                                   LabeledSeeds rows, const CancelToken* cancel);

class SubgraphSeeds final : public SeedSource {
 public:
  // `rows`: who counts the rows and splits them among ranks, which says how many steps there are;
  // it must outlive this. `all`: the rows of all ranks, of one node type, `type`.
  SubgraphSeeds(const SeedSource* rows, int type, LabeledSeeds all)
      : rows_(rows), type_(type), all_(std::move(all)) {}

  [[nodiscard]] std::span<const int64_t> part_rows() const override { return rows_->part_rows(); }
  // No seeds, and no labels.
  [[nodiscard]] Status Collect(std::span<const int64_t> rows, uint64_t key,
                               StepSeeds* step) const override;
  [[nodiscard]] bool finds_rows() const override { return true; }
  // In the order of the minibatch's nodes; of a node that has several rows, as they are stored.
  [[nodiscard]] FoundRows FindRows(const Minibatch& minibatch) const override;

  [[nodiscard]] const LabelRows& labels() const { return all_.labels; }

 private:
  const SeedSource* const rows_;
  const int type_;
  const LabeledSeeds all_;  // seeds ascending
};

}  // namespace halograph

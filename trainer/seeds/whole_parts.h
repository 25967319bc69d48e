// Full batches: beside the rows of a step, all nodes of the parts are seeds, so that every layer
// has one block over all of them, and all of these nodes' degrees are known.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "client/graph_store.h"
#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "trainer/seeds/seed_source.h"
#include "trainer/seeds/seed_split.h"

namespace halograph {

// Nodes of a type, a range of global ids of each part that has some.
struct NodesOfType {
  int type = 0;
  std::vector<IdRange> ids;
};

// What a rank adds: of the parts that have rows of the task, in whatever set, its share of the
// nodes of each type, split as rows are (SplitRows). The types, ascending, are those of the rows,
// `row_types`, and those that the layers' nodes can be of: there is a path of edges from them to a
// row's type, and an edge into them. Requires a task of info.schema.
[[nodiscard]] std::vector<NodesOfType> NodesOfParts(const GraphInfo& info, int task,
                                                    std::span<const int> row_types,
                                                    RankOfWorld who);

// The rows of another source. A step that has rows has a list of each type of `nodes`, the rows'
// seeds first and then the nodes: StepSeeds::List::asked says how many are the rows'.
class WholePartSeeds final : public SeedSource {
 public:
  // `rows` must outlive this; `nodes` as NodesOfParts.
  WholePartSeeds(const SeedSource* rows, std::shared_ptr<const std::vector<NodesOfType>> nodes)
      : rows_(rows), nodes_(std::move(nodes)) {}

  [[nodiscard]] std::span<const int64_t> part_rows() const override { return rows_->part_rows(); }
  [[nodiscard]] Status Collect(std::span<const int64_t> rows, uint64_t key,
                               StepSeeds* step) const override;

 private:
  const SeedSource* const rows_;
  const std::shared_ptr<const std::vector<NodesOfType>> nodes_;
};

}  // namespace halograph

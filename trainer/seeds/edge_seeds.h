// The rows of a set of a link prediction task (DistDGLv2 section 6). A minibatch is about the ends
// of its edges and of the negatives drawn for them; the edges themselves, and their way back, are
// left out of what is sampled, in every layer: no node sees the edge that it is asked about. A
// negative that is given is no edge, and takes none away: what the graph has between its ends, the
// model may know, and the nodes of other rows see what they would see without it.
//
// The way back of an edge u -> v of a relation: the edges v -> u of
//   - the same relation, if it joins a node type with itself (an undirected graph stored both
//   ways);
//   - the relation whose name is this one's with `rev_` or `rev-` in front, or without it;
//   - between two node types, where none has such a name: every relation back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "client/stores.h"
#include "common/base/rng.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/seeds/edge_layout.h"
#include "trainer/seeds/edge_rows.h"
#include "trainer/seeds/seed_source.h"

namespace halograph {

// The relations that the way back of a relation's edges is of: ascending.
[[nodiscard]] std::vector<int> ReverseRelations(const Schema& schema, int relation);

// Nodes of one type, drawn by a weight each: an alias table. 8 bytes a node; 32 while it is made.
// Immutable; thread-safe.
class NodeDrawer {
 public:
  // Weights: counts^0.75. Without a count above 0 all nodes are as likely. Requires at most 2^32.
  explicit NodeDrawer(std::span<const uint32_t> counts);
  [[nodiscard]] int64_t Draw(CounterRng& rng) const;

 private:
  struct Entry {
    float keep = 1;  // the chance that the entry drawn is it
    uint32_t alias = 0;
  };
  std::vector<Entry> entries_;
};
// Per node type, by how often a node is an end of an edge of the train set (of all ranks and
// relations: every rank reads them all once); null for types that no relation of the task ends in.
//   ResourceExhausted  a type of more than 2^32 nodes
//   else               as ForEachEdge
using NodeDrawers = std::vector<std::shared_ptr<const NodeDrawer>>;
[[nodiscard]] StatusOr<NodeDrawers> DrawersByDegree(const Stores& stores, const Task& task);

class EdgeSeeds final : public SeedSource {
 public:
  // `schema` must outlive it. `drawers`: of NegativeSampling::kDegree. `tag`: of what `negatives`
  // is to the task; it comes back in the labels.
  EdgeSeeds(const Schema* schema, EdgeRows rows, NegativeSpec negatives, NodeDrawers drawers = {},
            int64_t tag = 0);

  [[nodiscard]] std::span<const int64_t> part_rows() const override { return rows_.part_rows; }
  [[nodiscard]] const EdgeRows& edges() const { return rows_; }
  [[nodiscard]] const NegativeSpec& negatives() const { return negatives_; }

  // Seeds as LayOutEdges has them. The rows are put in order: by RunOf, then relation, else as
  // given. Labels: int64, kEdgeLabels columns of a row: its relation, the tag, and whether it is an
  // edge (1) or a negative that is given (0).
  [[nodiscard]] Status Collect(std::span<const int64_t> rows, uint64_t key,
                               StepSeeds* step) const override;

 private:
  [[nodiscard]] std::vector<size_t> InOrder(std::span<const int64_t> rows) const;
  void DrawInto(int type, std::span<int64_t> ids, CounterRng& rng) const;
  void Exclude(std::span<const size_t> edges, StepSeeds* step) const;

  const Schema* const schema_;
  EdgeRows rows_;
  const NegativeSpec negatives_;
  NodeDrawers drawers_;
  const int64_t tag_;
  std::vector<int64_t> runs_;              // RunOf of each relation
  std::vector<std::vector<int>> reverse_;  // of each relation
};

inline constexpr int64_t kEdgeLabels = 3;

}  // namespace halograph

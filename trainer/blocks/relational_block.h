// In-edges of several relations into one node type, grouped by destination and relation: what a
// relational layer (R-GCN) runs over in one pass for all relations. Plain values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/minibatch.h"
#include "trainer/blocks/block_transpose.h"

namespace halograph {

// A group is the edges of one relation into one destination; there is none without edges.
struct RelationalBlock {
  int64_t num_relations = 0;
  std::vector<int64_t> groups;     // destinations + 1: the groups of a destination
  std::vector<int32_t> relations;  // one a group, ascending within a destination
  std::vector<int64_t> indptr;     // groups + 1: the edges of a group
  std::vector<int32_t> sources;    // one an edge: a row of the stacked inputs
  // As Block's, where a relation's block has them: of a block without, 1, and the number of edges.
  std::vector<float> coefficients = {};  // one an edge
  std::vector<float> degrees = {};       // one a group
};

// One relation's block. The inputs of the source types are stacked into one matrix: `first_source`
// is the row where those of this relation's source type begin.
struct RelationEdges {
  const Block* block = nullptr;
  int64_t first_source = 0;
};

// Relations are numbered as they are listed; the edges of a group keep their order.
//   kInvalidArgument  no relation, blocks of different destinations, or a row of the stacked inputs
//                     that int32 cannot hold; the message names the relation
[[nodiscard]] StatusOr<RelationalBlock> GroupByRelation(std::span<const RelationEdges> relations);

// The same edges with the groups of each relation together: what a layer runs over that has a
// matrix of its own for each relation.
struct RelationGroups {
  std::vector<int64_t> relations = {0};  // relations + 1: the groups of a relation
  std::vector<int64_t> destinations;     // one a group, ascending within a relation
  // Groups stand for destinations, of the stacked inputs. Coefficients and degrees as
  // RelationalBlock has them.
  Block edges{0, {0}, {}};
};
// As GroupByRelation. No relation gives no group.
[[nodiscard]] StatusOr<RelationGroups> GroupWithinRelations(
    std::span<const RelationEdges> relations);

// By source, groups standing for destinations: what the way back runs over. `num_sources`: rows of
// the stacked inputs.
[[nodiscard]] TransposedBlock GroupsBySource(const RelationalBlock& block, int64_t num_sources);

}  // namespace halograph

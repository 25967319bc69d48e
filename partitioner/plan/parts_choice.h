// Chooses the number of partitions from the memory of one machine: CATGNN's "number of
// partitions from the resources" (arXiv 2404.02300, section 3.2). Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "partitioner/plan/graph_sizes.h"

namespace halograph {

// What the fullest partition needs in memory, for a machine that holds it all: its own nodes and
// edges with what the promised balance allows on top (kNodeTolerance, kEdgeTolerance), and the
// halo.
struct PartNeeds {
  int64_t core_features = 0;  // features of core nodes and of their in-edges
  int64_t topology = 0;       // offsets, source ids, original ids
  int64_t halo = 0;           // ids and features of halo nodes, which a trainer may keep beside
  int64_t halo_nodes = 0;     // the estimate behind it

  [[nodiscard]] int64_t bytes() const { return core_features + topology + halo; }
};

// Halo nodes are estimated as the replication that METIS leaves in graphs of people and papers: a
// quarter of the nodes more for each doubling of the partitions, never more than a partition has
// in-edges or than there are nodes elsewhere.
[[nodiscard]] PartNeeds NeedsOfPart(const GraphSizes& sizes, int parts);

struct PartsChoice {
  int parts = 0;
  PartNeeds needs;
  std::string why;  // the figures, for the log
};

// The least number of partitions of which each fits `memory_per_part`.
//   ResourceExhausted  none does, up to kMaxParts or a partition a node: says what the last needs
[[nodiscard]] StatusOr<PartsChoice> ChooseParts(const GraphSizes& sizes, int64_t memory_per_part);

}  // namespace halograph

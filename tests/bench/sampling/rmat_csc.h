// The benchmark's graph: R-MAT in memory as one CSC segment, arrays in huge pages.
#pragma once

#include <cstdint>

#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/storage/fused_array.h"

namespace halograph {

struct RmatCsc {
  Schema schema;
  Topology topology;  // one relation, one segment, views of the arrays
  int64_t nodes = 0;
  int64_t edges = 0;  // directed
  FusedArray<int64_t> indptr;
  FusedArray<uint32_t> indices;
};

// Fills in schema and topology of what the other fields hold.
void DescribeCsc(RmatCsc* graph);

// Of MakeRmatCsc. Not RmatOptions: those are of the generator, which writes files.
struct RmatCscOptions {
  int log2_nodes = 21;
  int64_t drawn = 32'000'000;  // edges, before symmetrising
  uint64_t seed = 1;
};

// a 0.57, b 0.19, c 0.19, d 0.05; `drawn` edges, symmetrised, without duplicates, ids permuted.
// Needs 16 bytes a drawn edge while it works. Same arguments, same graph.
[[nodiscard]] RmatCsc MakeRmatCsc(const RmatCscOptions& options);

}  // namespace halograph

// What one of four ranks reads of the others' rows: epochs of minibatches that the sampler makes,
// over R-MAT or a graph of communities, and how likely each row is to be read (VIP).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/graph/topology.h"
#include "tests/bench/sampling/rmat_csc.h"

namespace halograph {

struct RemoteReadsOptions {
  std::vector<int32_t> fanouts = {15, 10};
  int64_t batch = 500;
  double train = 0.2;  // of the rank's nodes
  int epochs = 3;
  uint64_t seed = 1;
};

struct RemoteReads {
  int64_t rows = 0;      // that others own; ids are numbers among them
  int64_t of_epoch = 0;  // steps
  std::vector<std::vector<int64_t>> steps;
  std::vector<float> vip;  // per row
};

// Communities of some 1000 nodes with ids in a row, 16 in-edges a node, 5 of 6 of them from the
// node's own community. Same arguments, same graph.
[[nodiscard]] RmatCsc MakeCommunityCsc(int log2_nodes, uint64_t seed);

// The rank owns the first quarter of the ids. Errors as FusedSampler.
[[nodiscard]] StatusOr<RemoteReads> SampleRemoteReads(const RmatCsc& graph,
                                                      const RemoteReadsOptions& options);

}  // namespace halograph

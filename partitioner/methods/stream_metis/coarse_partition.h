// Owners of clusters: METIS at tight bounds, so that what is left to the refinement of nodes is
// slack and not repair.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/stream_metis/coarse_graph.h"

namespace halograph {

struct CoarsePartition {
  std::vector<int32_t> owners;  // per cluster
  int64_t cut = 0;              // weight of pairs cut
  double excess = 0;            // PartLoads
  int attempts = 0;
};

// parts >= 2. A small graph is tried with several seeds and the best cut within the bounds taken:
// it costs nothing, and METIS' results differ by some per cent. Too few clusters for METIS (or no
// pairs) are dealt.
//   Internal, ResourceExhausted  as CallMetis
[[nodiscard]] StatusOr<CoarsePartition> PartitionCoarse(const CoarseGraph& coarse, int parts,
                                                        uint64_t seed);

}  // namespace halograph

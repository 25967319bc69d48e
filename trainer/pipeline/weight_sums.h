// Sums of the weights (--edge-weight) of all in-edges of each node, whatever is drawn of them: what
// GCN divides by where its sums over drawn edges are estimates.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "client/graph_store.h"
#include "client/row_store.h"
#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/sampling/minibatch.h"
#include "trainer/pipeline/edge_weights.h"
#include "trainer/pipeline/stage_pipeline.h"
#include "trainer/seeds/seed_split.h"

namespace halograph {

// Of one relation that leads from a node type to itself. Immutable. 4 bytes a node.
class WeightSums {
 public:
  // By global id.
  WeightSums(int type, std::vector<float> sums) : type_(type), sums_(std::move(sums)) {}

  // Makes the degrees of the minibatch's blocks these sums. Requires blocks that have degrees, of
  // the relation.
  void SetDegrees(Minibatch* minibatch) const;

 private:
  const int type_;
  const std::vector<float> sums_;
};

// By whom weights are read, and within which bounds.
struct WeightSumsReading {
  RankOfWorld own;
  size_t threads = 1;
  int64_t memory = kNoBound;  // of edges and weights that are read ahead, as StreamOptions'
  const CancelToken* cancel = nullptr;
};

// By global id, those of the nodes that reading.own has of all (SplitRows); 0 of the others. Reads
// the weight of every edge that leads there, by the only relation of `weights`. Errors as
// MinibatchStream::Next.
[[nodiscard]] StatusOr<std::vector<float>> ReadWeightSums(GraphStore* graph, RowStore* rows,
                                                          const EdgeWeighing& weights,
                                                          const WeightSumsReading& reading);

}  // namespace halograph

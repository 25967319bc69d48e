// What graph-wise samplers are told: of which draws a minibatch's subgraph is made
// (docs/samplers.md). Knows no libtorch.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/program/options.h"
#include "common/sampling/request.h"

namespace halograph {

struct SubgraphOptions {
  // Draws of one subgraph; 0: the batch size.
  int32_t saint_nodes = 0;
  int32_t saint_edges = 0;
  int32_t saint_roots = 0;  // walks
  int32_t walk_length = 2;  // steps
  // Where chances of walks are found out by drawing: in how many subgraphs a node is, on average.
  int32_t saint_coverage = 50;
  int32_t clusters_per_batch = 0;  // 0: so many that a batch size of training nodes is in them
  bool cluster_weights = false;
};

void AddSubgraphRows(OptionTable& rows, SubgraphOptions* o);

// What subgraphs are drawn of.
struct SubgraphPlace {
  const Schema& schema;
  int64_t clusters = 0;       // of all parts
  int64_t training_rows = 0;  // of all ranks
  int64_t batch_size = 0;
};

// Clusters that a minibatch has; 1 where there are none.
[[nodiscard]] int64_t ClustersOfBatch(const SubgraphOptions& options, const SubgraphPlace& place);

// Whether clusters can be drawn as asked.
//   FailedPrecondition  the graph has none: what makes them is named
//   InvalidArgument     clusters are to be weighed of which a minibatch has only one
[[nodiscard]] Status CheckClusters(const SubgraphOptions& options, const SubgraphPlace& place);

// The same draw in each of `layers` layers, of a kind that is graph-wise. Of clusters it requires
// CheckClusters before anything is drawn.
//   InvalidArgument  a graph of several node types or relations
[[nodiscard]] StatusOr<SamplingSpec> SubgraphSpec(const SubgraphOptions& options, DrawKind kind,
                                                  int64_t layers, const SubgraphPlace& place);

}  // namespace halograph

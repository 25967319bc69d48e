#include "partitioner/write/writing_plan.h"

#include <algorithm>

#include "partitioner/stream/edge_pass.h"

namespace halograph {

MemoryPlan PlanWriting(const GraphCounts& counts, int64_t) {
  int64_t largest = 0;
  for (const int64_t nodes : counts.nodes) largest = std::max(largest, nodes);
  const int64_t nodes = counts.num_nodes();
  return {{{"renumbering", {{"owners", 2 * nodes}, {"global ids", 8 * nodes}}},
           {"writing",
            {{"owners", 2 * nodes},
             {"global ids", 8 * nodes},
             {"positions", 8 * largest},
             {"edge chunks", kEdgePassBytes}}}}};
}

}  // namespace halograph

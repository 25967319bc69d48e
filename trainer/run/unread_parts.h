// Parts of a typed graph that a model of neighbours never reads. All can be meant, so they are
// warned of and no error; often an edge file is empty, was left out, or stands the wrong way round.
#pragma once

#include <string_view>

#include "common/graph/schema.h"
#include "trainer/tasks/task.h"

namespace halograph {

// Logs a warning of each node type of the task that no edge leads into, and one of each of these,
// naming at most five:
//   relations without edges
//   node types that are neither the task's nor in a relation with edges
void WarnOfUnreadParts(const Schema& schema, const TrainingTask& task);

// Logs a warning of edge features that nothing reads, at most five: all but the two that are named.
void WarnOfUnreadEdgeFeatures(const Schema& schema, std::string_view sampling_weights,
                              std::string_view edge_weight);

}  // namespace halograph

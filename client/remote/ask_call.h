// What samplers ask of a topology, asked of partition servers: all questions are one exchange.
#pragma once

#include <span>
#include <vector>

#include "client/remote/cluster.h"
#include "client/started.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// Answers one a question, in their order; their memory is used again. `questions` and `answers`
// live until `done` is called. Where nothing is to be asked, nothing is sent. Errors are those of
// LayerCalls, ColumnSumsCalls and ExtractCalls.
void StartAskRemotely(Cluster* cluster, const TopologyQuestions& questions, CallContext& context,
                      TopologyAnswers* answers, StatusDone done);

// GraphStore::StartLayer: the same of draws alone.
void StartLayerRemotely(Cluster* cluster, std::span<const LayerGroup> groups, CallContext& context,
                        std::vector<NeighborPicks>* picks, StatusDone done);

}  // namespace halograph

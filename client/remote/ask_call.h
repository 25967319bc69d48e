// What samplers ask of a topology, asked of partition servers: all questions are one exchange.
#pragma once

#include "client/remote/cluster.h"
#include "client/started.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// GraphStore::StartAsk. Answers one a question, in their order; their memory is used again.
// `questions` and `answers` live until `done` is called. Where nothing is to be asked, nothing is
// sent. Errors are those of LayerCalls, ColumnSumsCalls and ExtractCalls.
void StartAskRemotely(Cluster* cluster, const TopologyQuestions& questions, CallContext& context,
                      TopologyAnswers* answers, StatusDone done);

}  // namespace halograph

// One layer of sampling out of partition servers: its destinations are shared out by owner, every
// owner is asked at once, and the answers are put back into the caller's order.
#pragma once

#include <span>
#include <vector>

#include "client/remote/cluster.h"
#include "common/sampling/samplers/minibatch_builder.h"

namespace halograph {

// GraphStore::StartLayer. Groups without destinations, or of fanout 0, are asked of nobody.
//   FailedPrecondition  no server serves the topology of a destination: the part is named; or a
//                       server is of a version that does not know what a group asks for
//   DataLoss            a reply that does not fit its request: the server is named
//   ResourceExhausted   the edges of one destination exceed the message limits, and a server of its
//                       part is of a version that does not answer it in pieces
//   else                as RpcClient::Start
void StartLayerRemotely(Cluster* cluster, std::span<const LayerGroup> groups, CallContext& context,
                        std::vector<NeighborPicks>* picks, StatusDone done);

}  // namespace halograph

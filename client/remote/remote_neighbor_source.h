// Where BuildMinibatches gets its edges in partitioned mode: one layer's destinations are grouped
// by owner, every owner is asked at once, and the answers are put back into the caller's order.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "client/partial_stores.h"
#include "client/remote/cluster.h"
#include "common/sampling/minibatch_builder.h"

namespace halograph {

// Thread-safe as long as each call has its own. Borrows cluster, scope and stats.
class RemoteNeighborSource final : public NeighborSource {
 public:
  // `meanwhile` and `stats` as LayeredGraphStore::NewSource.
  RemoteNeighborSource(Cluster* cluster, CallScope* scope, Meanwhile meanwhile, CallStats* stats)
      : cluster_(cluster), scope_(scope), meanwhile_(std::move(meanwhile)), stats_(stats) {}

  // A layer without destinations, or with fanouts 0 only, sends nothing.
  //   FailedPrecondition  no server serves the topology of a destination: the part is named
  //   DataLoss           a reply that does not fit its request: the server is named
  //   ResourceExhausted  the edges of one destination exceed the message limits
  //   else               as RpcClient::Run
  [[nodiscard]] Status SampleLayer(std::span<const LayerGroup> groups,
                                   std::vector<NeighborPicks>* picks) override;

 private:
  // Groups of one minibatch and layer: what one request can carry. A call of several makes an
  // exchange for each.
  [[nodiscard]] Status Exchange(std::span<const LayerGroup> groups, const Meanwhile& meanwhile,
                                std::vector<NeighborPicks>* picks);

  Cluster* cluster_;
  CallScope* scope_;
  Meanwhile meanwhile_;
  CallStats* stats_;
};

}  // namespace halograph

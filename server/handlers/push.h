// KVService/Push without its wire: rows for one mutable tensor in one part. Immutable; thread-safe.
#pragma once

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/state/parts/part_states.h"
#include "proto/wire/push.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

class PushHandler {
 public:
  // Both outlive the handler. `states` is null if the server keeps no mutable tensors.
  PushHandler(const ServedGraph* graph, PartStates* states) : graph_(graph), states_(states) {}

  //   FailedPrecondition  the server keeps no mutable tensors: what to start it with; or
  //                       PartStates::CheckPush
  //   InvalidArgument     a client id or sequence number of 0; a kind that there is none of
  //   OutOfRange          the part is not served here
  //   else                as StateStore::Push
  [[nodiscard]] StatusOr<PushReceipt> Push(wire::PushRequest request,
                                           const WorkLimits& limits) const;

 private:
  const ServedGraph* graph_;
  PartStates* states_;
};

}  // namespace halograph::server

// KVService/Push without its wire: rows for one mutable tensor in one part. Immutable; thread-safe.
#pragma once

#include <memory>

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
  //   InvalidArgument     a client id or sequence number of 0; a kind, rank or chunk that there
  //                       is none of; or CheckPushedRows
  //   OutOfRange          the part is not served here
  //   else                as StateStore::Push
  // `kept`: owns the request, so that the call may end before the push does (PushRequest::kept).
  [[nodiscard]] StatusOr<PushReceipt> Push(const wire::PushRequest& request,
                                           const WorkLimits& limits,
                                           std::shared_ptr<const void> kept = nullptr) const;

 private:
  const ServedGraph* graph_;
  PartStates* states_;
};

}  // namespace halograph::server

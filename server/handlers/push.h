// KVService/Push and RegisterClient without their wire: rows for one mutable tensor in one part,
// and who pushes them. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/state/parts/part_states.h"
#include "proto/wire/push.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

struct RegisteredClient {
  uint64_t client = 0;
  int64_t lsn = 0;  // of the moment
};

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

  // A client with a new id, as StateStore::RegisterClient; FailedPrecondition, OutOfRange as Push.
  [[nodiscard]] StatusOr<RegisteredClient> Register(uint32_t part, const WorkLimits& limits) const;

 private:
  // FailedPrecondition, OutOfRange as above, naming `what`.
  [[nodiscard]] StatusOr<StateStore*> StoreOf(const std::string& what, uint32_t part) const;

  const ServedGraph* graph_;
  PartStates* states_;
};

}  // namespace halograph::server

#include "server/handlers/push.h"

#include <memory>
#include <utility>

namespace halograph::server {
namespace {

// What a request says. Holds on to it.
StatusOr<StatePush> ToStatePush(wire::PushRequest owned) {
  const auto request = std::make_shared<const wire::PushRequest>(std::move(owned));
  const wire::PushHeader& header = request->header;
  StatePush of_store{.push = {.tensor = {header.edge, header.type, header.name},
                              .kind = static_cast<PushKind>(header.kind),
                              .ids = request->ids,
                              .dtype = static_cast<DType>(header.dtype),
                              .rows = request->rows.span()},
                     .id = {.client = header.client,
                            .sequence = header.sequence,
                            .registered = header.registered,
                            .answered = header.answered},
                     .kept = request};
  if (header.step.has_value()) {
    const wire::PushStep& step = *header.step;
    of_store.push.step = SyncStep{.step = step.step,
                                  .rank = step.rank,
                                  .world_size = step.world_size,
                                  .run = step.run,
                                  .chunk = step.chunk,
                                  .chunks = step.chunks == 0 ? 1 : step.chunks};
  }
  if (header.client == 0 || header.sequence == 0) {
    return InvalidArgument(
        "{}: client {}, sequence {}: a client has an id of RegisterClient or draws one by chance, "
        "not 0, and counts its pushes to a part from 1",
        of_store.push.tensor.ToString(), header.client, header.sequence);
  }
  if (header.kind > static_cast<uint32_t>(PushKind::kBits)) {
    return InvalidArgument("{}: kind {} is unknown to this server", of_store.push.tensor.ToString(),
                           header.kind);
  }
  return of_store;
}

}  // namespace

StatusOr<StateStore*> PushHandler::StoreOf(const std::string& what, uint32_t part) const {
  if (states_ == nullptr) return NoStateFolder(what);
  StateStore* const store = states_->Find(part);
  if (store != nullptr) return store;
  return OutOfRange("{}: part {} is not served here; this server serves {}: ask the owner", what,
                    part, graph_->parts_text());
}

StatusOr<RegisteredClient> PushHandler::Register(uint32_t part, const WorkLimits& limits) const {
  HG_ASSIGN_OR_RETURN(StateStore* const store, StoreOf("a client", part));
  for (;;) {
    const uint64_t client = DrawClientId();
    const StatusOr<int64_t> lsn = store->RegisterClient(client, limits);
    if (lsn.ok()) return RegisteredClient{client, *lsn};
    if (!absl::IsAlreadyExists(lsn.status())) return lsn.status();
  }
}

StatusOr<PushReceipt> PushHandler::Push(wire::PushRequest request, const WorkLimits& limits) const {
  const TensorRef tensor = {request.header.edge, request.header.type, request.header.name};
  HG_ASSIGN_OR_RETURN(StateStore* const store, StoreOf(tensor.ToString(), request.header.part));
  HG_ASSIGN_OR_RETURN(const StatePush of_store, ToStatePush(std::move(request)));
  const RowPush& push = of_store.push;
  HG_RETURN_IF_ERROR(states_->CheckPush(push.tensor, push.kind));
  return store->Push(of_store, limits);
}

}  // namespace halograph::server

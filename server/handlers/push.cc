#include "server/handlers/push.h"

#include <utility>

#include "common/state/push_checks.h"

namespace halograph::server {
namespace {

constexpr int32_t kMostRanks = 1 << 20;
constexpr int32_t kMostChunks = 1 << 20;

StatusOr<SyncStep> ToSyncStep(const wire::PushStep& wire, const std::string& tensor) {
  const SyncStep step{.step = wire.step,
                      .rank = wire.rank,
                      .world_size = wire.world_size,
                      .run = wire.run,
                      .chunk = wire.chunk,
                      .chunks = wire.chunks == 0 ? 1 : wire.chunks};
  if (step.world_size < 1 || step.world_size > kMostRanks || step.rank < 0 ||
      step.rank >= step.world_size) {
    return InvalidArgument("{}: rank {} of {}: ranks count from 0, and there are 1 to {}", tensor,
                           step.rank, step.world_size, kMostRanks);
  }
  if (step.chunks < 1 || step.chunks > kMostChunks || step.chunk < 0 || step.chunk >= step.chunks) {
    return InvalidArgument("{}: chunk {} of {}: chunks count from 0, and there are 1 to {}", tensor,
                           step.chunk, step.chunks, kMostChunks);
  }
  if (step.step < 0) return InvalidArgument("{}: step {} is below 0", tensor, step.step);
  return step;
}

}  // namespace

StatusOr<PushReceipt> PushHandler::Push(const wire::PushRequest& request, const WorkLimits& limits,
                                        std::shared_ptr<const void> kept) const {
  const wire::PushHeader& header = request.header;
  PushRequest push{.tensor = {header.edge, header.type, header.name},
                   .kind = static_cast<PushKind>(header.kind),
                   .client = header.client,
                   .sequence = header.sequence,
                   .ids = request.ids,
                   .dtype = static_cast<DType>(header.dtype),
                   .rows = request.rows.span(),
                   .kept = std::move(kept)};
  const std::string name = push.tensor.ToString();
  if (states_ == nullptr) return NoStateFolder(name);
  StateStore* const store = states_->Find(header.part);
  if (store == nullptr) {
    return OutOfRange("{}: part {} is not served here; this server serves {}: ask the owner", name,
                      header.part, graph_->parts_text());
  }
  if (header.client == 0 || header.sequence == 0) {
    return InvalidArgument(
        "{}: client {}, sequence {}: a client draws its id by chance, not 0, and counts its pushes "
        "to a part from 1",
        name, header.client, header.sequence);
  }
  if (header.kind > static_cast<uint32_t>(PushKind::kImage)) {
    return InvalidArgument("{}: kind {} is unknown to this server", name, header.kind);
  }
  HG_RETURN_IF_ERROR(states_->CheckPush(push.tensor, push.kind));
  const MutableTensor* const tensor = states_->catalog().FindMutable(push.tensor);
  if (tensor == nullptr) {
    return NotFound("{}: no such mutable tensor; there are: {}", name, states_->catalog().Names());
  }
  HG_RETURN_IF_ERROR(CheckPushedRows(tensor->spec, push.kind, push.dtype, request.ids.size(),
                                     request.rows.size()));
  if (header.step.has_value()) {
    HG_ASSIGN_OR_RETURN(push.step, ToSyncStep(*header.step, name));
  }
  return store->Push(push, limits);
}

}  // namespace halograph::server

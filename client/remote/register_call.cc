#include "client/remote/register_call.h"

#include "client/remote/message_io.h"
#include "common/base/log.h"
#include "halograph/v1/kv.pb.h"
#include "proto/wire/capabilities.h"

namespace halograph {

std::optional<Rpc> RegisterCall(PushClients* clients, const ServedParts& served,
                                const ReplicaSet& owner, int part, bool* draws) {
  if (*draws || served.FirstWithout(owner, wire::kRegisteredClients) >= 0) return std::nullopt;
  const std::shared_ptr<PushClients::Asking> asking = clients->AskForId(part);
  if (asking == nullptr) return std::nullopt;
  Rpc rpc;
  rpc.servers = owner.servers;
  rpc.serves = owner.name;
  rpc.method = Method::kRegisterClient;
  rpc.at_once = true;
  rpc.make_request = [part] {
    v1::RegisterClientRequest request;
    request.set_part(static_cast<uint32_t>(part));
    return request.SerializeAsString();
  };
  rpc.on_reply = [asking](ReplyPieces pieces, std::vector<Rpc>*) {
    v1::RegisterClientReply reply;
    HG_RETURN_IF_ERROR(ParseReply(pieces, &reply));
    return asking->Register(reply.client(), reply.lsn());
  };
  // An older server may have come in the place of one that does.
  rpc.on_error = [part, draws](int, const Status& error, std::vector<Rpc>*) {
    if (!absl::IsResourceExhausted(error) && !absl::IsUnimplemented(error)) return error;
    spdlog::warn(
        "part {} does not register this client, which draws an id instead (that is forgotten after "
        "thousands of others have pushed): {}",
        part, Message(error));
    *draws = true;
    return OkStatus();
  };
  return rpc;
}

}  // namespace halograph

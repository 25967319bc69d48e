// The call by which a part gives this client an id for its pushes (client/push_clients.h).
#pragma once

#include <optional>

#include "client/push_clients.h"
#include "client/remote/rpc.h"
#include "client/remote/served_parts.h"

namespace halograph {

// Nothing: the client has an id, or is asking for one, or the owner gives none. What it borrows
// lives as long as the call, which makes `*draws` true, and says why, where the part has no room:
// the client draws an id then. Its other errors end the batch; DataLoss as
// PushClients::Asking::Register.
[[nodiscard]] std::optional<Rpc> RegisterCall(PushClients* clients, const ServedParts& served,
                                              const ReplicaSet& owner, int part, bool* draws);

}  // namespace halograph

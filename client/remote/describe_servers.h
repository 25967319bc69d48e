// Asks servers who they are.
#pragma once

#include "client/call_context.h"
#include "client/remote/description.h"
#include "client/remote/rpc.h"

namespace halograph {

// How long a client waits at its start, once it has servers for all parts, for the other servers.
inline constexpr std::chrono::seconds kStartGrace{3};

// The descriptions of all servers of `rpc` that answer in time, checked: of one graph, and together
// they serve all of it. A server that does not answer may be missing if another serves its parts:
// then this returns kStartGrace after the last that was needed, with null for those missing, at the
// latest when the timeout has passed; a warning names them.
//   Unavailable, DeadlineExceeded  a server is missing, and parts with it: named
//   else                           as CheckOneGraph, CheckComplete and RpcClient::Run
[[nodiscard]] StatusOr<Descriptions> DescribeServers(RpcClient* rpc, CallContext& context);

// The description of one. Errors as ReadDescription and RpcClient::Run.
[[nodiscard]] StatusOr<std::shared_ptr<const ServerDescription>> DescribeServer(
    RpcClient* rpc, int server, CallContext& context);

}  // namespace halograph

// The name of a client that a proxy in front of the server has checked, which it sends as metadata.
#pragma once

#include <string>

#include "server/listener/connection_table.h"

namespace grpc {
class CallbackServerContext;
}

namespace halograph::server {

// Metadata of a call: the subject of the client's certificate, say.
inline constexpr char kIdentityKey[] = "x-halograph-identity";

// What the proxy says; empty: nothing. From a peer that is no trusted proxy (and where the key is
// there several times, which no proxy of ours sends) it is not read, and `table` counts it.
// `call`: of this connection.
[[nodiscard]] std::string ProxiedIdentity(const grpc::CallbackServerContext& context,
                                          const ConnectionTable::Call& call,
                                          ConnectionTable* table);

}  // namespace halograph::server

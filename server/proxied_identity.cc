#include "server/proxied_identity.h"

#include <iterator>

#include <grpcpp/server_context.h>

namespace halograph::server {

std::string ProxiedIdentity(const grpc::CallbackServerContext& context,
                            const ConnectionTable::Call& call, ConnectionTable* table) {
  const auto [first, end] = context.client_metadata().equal_range(kIdentityKey);
  if (first == end) return "";
  if (!call.from_proxy() || std::next(first) != end) {
    table->CountIgnoredIdentity();
    return "";
  }
  return {first->second.data(), first->second.size()};
}

}  // namespace halograph::server

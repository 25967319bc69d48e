#include "server/caller.h"

#include <algorithm>
#include <string>
#include <utility>

#include <grpc/grpc_security_constants.h>
#include <grpcpp/server_context.h>

#include "common/base/call_metadata.h"
#include "common/http/http_access.h"
#include "server/proxied_identity.h"
#include "server/runtime/client_table.h"

namespace halograph::server {
namespace {

bool IsEncrypted(const grpc::AuthContext& connection) {
  const auto types = connection.FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  return std::any_of(types.begin(), types.end(), [](const grpc::string_ref& type) {
    return type == GRPC_SSL_TRANSPORT_SECURITY_TYPE || type == GRPC_TLS_TRANSPORT_SECURITY_TYPE;
  });
}

}  // namespace

CallerFacts FactsOf(const grpc::CallbackServerContext& context, bool from_proxy,
                    const std::string& identity) {
  CallerFacts facts;
  const auto [first, end] = context.client_metadata().equal_range(kAuthorizationKey);
  for (auto found = first; found != end; ++found) {
    facts.authorizations.emplace_back(found->second.data(), found->second.size());
  }
  const auto connection = context.auth_context();
  const bool encrypted = connection != nullptr && IsEncrypted(*connection);
  facts.is_private = encrypted || NamesLoopback(HostOfPeer(context.peer()));
  if (from_proxy) {
    if (!identity.empty()) facts.certificate_names = {identity};
    return facts;
  }
  if (!encrypted) return facts;
  for (const char* property : {GRPC_PEER_SPIFFE_ID_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME,
                               GRPC_X509_CN_PROPERTY_NAME}) {
    for (const grpc::string_ref& found : connection->FindPropertyValues(property)) {
      std::string name(found.data(), found.size());
      auto& names = facts.certificate_names;
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
  }
  return facts;
}

Status CheckCaller(const grpc::CallbackServerContext& context, const ConnectionTable::Call& call,
                   ConnectionTable* connections, Rights* rights) {
  if (rights == nullptr) return OkStatus();
  const std::string identity = ProxiedIdentity(context, call, connections);
  return rights->Of(FactsOf(context, call.from_proxy(), identity)).status();
}

ConnectionTable::Call BeginCounted(ConnectionTable* connections,
                                   const grpc::CallbackServerContext& context,
                                   int64_t request_bytes) {
  int64_t bytes = request_bytes;
  for (const auto& [key, value] : context.client_metadata()) {
    bytes += static_cast<int64_t>(key.size() + value.size());
  }
  return connections->Begin(context.peer(), bytes);
}

}  // namespace halograph::server

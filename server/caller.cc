#include "server/caller.h"

#include <algorithm>
#include <string>

#include <grpc/grpc_security_constants.h>
#include <grpcpp/server_context.h>

#include "common/base/call_metadata.h"
#include "common/http/http_access.h"
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

CallerFacts FactsOf(const grpc::CallbackServerContext& context) {
  CallerFacts facts;
  const auto [first, end] = context.client_metadata().equal_range(kAuthorizationKey);
  for (auto found = first; found != end; ++found) {
    facts.authorizations.emplace_back(found->second.data(), found->second.size());
  }
  const auto connection = context.auth_context();
  const bool encrypted = connection != nullptr && IsEncrypted(*connection);
  facts.is_private = encrypted || NamesLoopback(HostOfPeer(context.peer()));
  if (!encrypted) return facts;
  for (const char* property : {GRPC_PEER_SPIFFE_ID_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME,
                               GRPC_X509_CN_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : connection->FindPropertyValues(property)) {
      facts.certificate_names.emplace_back(name.data(), name.size());
    }
  }
  return facts;
}

Status CheckCaller(const grpc::CallbackServerContext& context, Rights* rights) {
  return rights == nullptr ? OkStatus() : rights->Of(FactsOf(context)).status();
}

}  // namespace halograph::server

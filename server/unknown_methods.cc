#include "server/unknown_methods.h"

#include <utility>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "server/rpc_status.h"

namespace halograph::server {
namespace {

class UnknownCall final : public grpc::ServerGenericBidiReactor {
 public:
  UnknownCall(ConnectionTable::Call call, const Status& status) : call_(std::move(call)) {
    Finish(ToGrpc(status));
  }
  void OnDone() override { delete this; }

 private:
  const ConnectionTable::Call call_;
};

}  // namespace

grpc::ServerGenericBidiReactor* UnknownMethods::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  int64_t bytes = 0;
  for (const auto& [key, value] : context->client_metadata()) {
    bytes += static_cast<int64_t>(key.size() + value.size());
  }
  const std::string name = Printable(context->method(), kNameShown);
  return new UnknownCall(
      connections_.Begin(context->peer(), bytes),
      MakeStatus(absl::StatusCode::kUnimplemented, "this server has no method " + name));
}

}  // namespace halograph::server

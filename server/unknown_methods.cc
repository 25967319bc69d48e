#include "server/unknown_methods.h"

#include <utility>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "server/caller.h"
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
  const std::string name = Printable(context->method(), kNameShown);
  return new UnknownCall(
      BeginCounted(&connections_, *context, 0),
      MakeStatus(absl::StatusCode::kUnimplemented, "this server has no method " + name));
}

}  // namespace halograph::server

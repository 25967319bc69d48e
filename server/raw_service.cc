#include "server/raw_service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/server_callback.h>

namespace halograph::server {

void RawService::Serve(const CallEnvironment& environment, Method method, CallWork work) {
  using grpc::internal::RpcServiceMethod;
  AddMethod(new RpcServiceMethod(PathOf(method).data(), RpcServiceMethod::NORMAL_RPC, nullptr));
  auto start = [environment, method, work = std::move(work)](grpc::CallbackServerContext* context,
                                                             const grpc::ByteBuffer* request,
                                                             grpc::ByteBuffer* reply) {
    return StartCall(environment, method, context, request, reply, work);
  };
  MarkMethodRawCallback(
      served_++, new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                     std::move(start)));
}

}  // namespace halograph::server

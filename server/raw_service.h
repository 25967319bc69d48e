// A service of gRPC whose methods are rows of the table (proto/methods/methods.h): each is raw, and
// its calls run as server/call.h says. A service names its methods and what answers each in one
// constant list; a method that the list lacks or has twice does not compile.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/support/byte_buffer.h>

#include "common/base/status.h"
#include "proto/methods/methods.h"
#include "server/call.h"

namespace halograph::server {

// A method, and the function of `Calls`, a class of one service, that answers its calls. Parameters
// are those of CallWork. Several threads at once.
template <typename Calls>
struct MethodHandler {
  Method method;
  Status (Calls::*answer)(grpc::ByteBuffer* request, CallScope& scope,
                          grpc::ByteBuffer* reply) const;
};

// Whether `handlers` are of the methods of this service, each once.
template <typename Handlers>
[[nodiscard]] constexpr bool ServesEachOnce(std::string_view service, const Handlers& handlers) {
  for (size_t m = 0; m < kNumMethods; ++m) {
    const auto method = static_cast<Method>(m);
    int times = 0;
    for (const auto& handler : handlers) times += handler.method == method ? 1 : 0;
    if (times != (ServiceOf(method) == service ? 1 : 0)) return false;
  }
  return true;
}

class RawService final : public grpc::Service {
 public:
  // Calls of `method` are answered by `work`. Before the service is registered, once a method.
  // What `environment` and `work` point to outlives the server that has the service; so does this.
  void Serve(const CallEnvironment& environment, Method method, CallWork work);

 private:
  int served_ = 0;
};

template <typename Calls, size_t N>
[[nodiscard]] std::unique_ptr<grpc::Service> MakeRawService(
    const CallEnvironment& environment, std::shared_ptr<const Calls> calls,
    const std::array<MethodHandler<Calls>, N>& handlers) {
  auto service = std::make_unique<RawService>();
  for (const MethodHandler<Calls>& handler : handlers) {
    service->Serve(environment, handler.method,
                   [calls, answer = handler.answer](grpc::ByteBuffer* request, CallScope& scope,
                                                    grpc::ByteBuffer* reply) {
                     return ((*calls).*answer)(request, scope, reply);
                   });
  }
  return service;
}

}  // namespace halograph::server

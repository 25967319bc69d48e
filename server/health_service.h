// The standard health service of gRPC (proto/grpc/health/v1/health.proto): whether the server, and
// each of its services, takes calls. Answered on gRPC's threads, past the gate, so also while the
// server is full or drains. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <grpcpp/impl/codegen/service_type.h>

#include "common/base/status.h"
#include "server/listener/connection_table.h"

namespace grpc {
class CallbackServerContext;
}

namespace halograph::server {

class HealthService {
 public:
  // Watches that may be open at a time; more are RESOURCE_EXHAUSTED.
  static constexpr size_t kMostWatches = 128;

  // NOT_SERVING at first. `services`: their full names, which live for ever.
  // Calls count in `connections`, which outlives the server; null: nowhere.
  explicit HealthService(std::span<const std::string_view> services,
                         ConnectionTable* connections = nullptr);
  ~HealthService();
  HealthService(const HealthService&) = delete;
  HealthService& operator=(const HealthService&) = delete;

  // Asks before each Check and Watch; what it returns, if not OK, ends them. Before the service is
  // registered; else everybody may.
  using MayAsk =
      std::function<Status(const grpc::CallbackServerContext&, const ConnectionTable::Call&)>;
  void AskFirst(MayAsk may);

  // What to register; outlives the server, as this does.
  [[nodiscard]] grpc::Service* service();

  // Of the server and of all its services from now on: SERVING or NOT_SERVING. Watches hear of it.
  void SetServing(bool serving);

  // Ends all watches, and later ones at once, with UNAVAILABLE. Does not wait for them. Idempotent.
  void EndWatches();

  // Watches that are open.
  [[nodiscard]] size_t watches() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace halograph::server

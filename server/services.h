// The services, one source file each, over the handlers. What they share is here.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/support/byte_buffer.h>

#include "common/base/status.h"
#include "common/state/parts/part_states.h"
#include "proto/methods/methods.h"
#include "server/call.h"
#include "server/handlers/graph_counters.h"
#include "server/handlers/served_graph.h"
#include "server/handlers/server_metrics.h"
#include "server/handlers/topology_files.h"

namespace halograph::server {

// Must outlive the services; so must what it points to.
struct ServiceContext {
  CallEnvironment calls;
  std::shared_ptr<const ServedGraph> graph;
  std::shared_ptr<const TopologyFiles> topology_files;
  int64_t max_message_bytes = 0;
  PartStates* states = nullptr;  // null: the server keeps no mutable tensors
  const ServerParts* figures = nullptr;
  GraphCounters* counters = nullptr;
};

// ReadTaskSet of KVService and, under its first name, of GraphService. InvalidArgument if `request`
// is no such message; else as TaskSetHandler::Read.
// PermissionDenied as Access::ToTask.
[[nodiscard]] Status AnswerReadTaskSet(const ServiceContext& context, grpc::ByteBuffer* request,
                                       CallScope& scope, grpc::ByteBuffer* reply);

// Services of the table (proto/methods/methods.h), by name.
inline constexpr std::string_view kGraphService = "halograph.v1.GraphService";
inline constexpr std::string_view kKvService = "halograph.v1.KVService";
inline constexpr std::string_view kAdminService = "halograph.v1.AdminService";

// ResourceExhausted if the graph's description does not fit in a message.
[[nodiscard]] StatusOr<std::unique_ptr<grpc::Service>> MakeGraphService(
    const ServiceContext& context);
// Do not fail.
[[nodiscard]] StatusOr<std::unique_ptr<grpc::Service>> MakeKvService(const ServiceContext& context);
// What Stats and /status tell; with metrics if they are wanted.
[[nodiscard]] ServerSnapshot TakeSnapshot(const ServiceContext& context, bool metrics);

[[nodiscard]] StatusOr<std::unique_ptr<grpc::Service>> MakeAdminService(
    const ServiceContext& context);

struct ServiceRow {
  std::string_view name;
  StatusOr<std::unique_ptr<grpc::Service>> (*make)(const ServiceContext& context);
};
inline constexpr auto kServiceRows = std::to_array<ServiceRow>({
    {kGraphService, &MakeGraphService},
    {kKvService, &MakeKvService},
    {kAdminService, &MakeAdminService},
});
static_assert(
    std::equal(kServiceRows.begin(), kServiceRows.end(), kServiceNames.begin(), kServiceNames.end(),
               [](const ServiceRow& row, std::string_view name) { return row.name == name; }),
    "kServiceRows needs a row for each service of proto/methods/methods.h, in its order");

}  // namespace halograph::server

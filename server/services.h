// The three services, one source file each, over the handlers. What they share is here; generated
// headers are slow to compile and stay in the sources.
#pragma once

#include <cstdint>
#include <memory>

#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/support/byte_buffer.h>

#include "common/base/status.h"
#include "common/state/parts/part_states.h"
#include "server/call.h"
#include "server/handlers/served_graph.h"
#include "server/handlers/topology_files.h"

namespace halograph::server {

// Must outlive the services; so must what it points to.
struct ServiceContext {
  CallEnvironment calls;
  std::shared_ptr<const ServedGraph> graph;
  std::shared_ptr<const TopologyFiles> topology_files;
  int64_t max_message_bytes = 0;
  PartStates* states = nullptr;  // null: the server keeps no mutable tensors
};

// ReadTaskSet of KVService and, under its first name, of GraphService. InvalidArgument if `request`
// is no such message; else as TaskSetHandler::Read.
[[nodiscard]] Status AnswerReadTaskSet(const ServiceContext& context, grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply);

// ResourceExhausted if the graph's description does not fit in a message.
[[nodiscard]] StatusOr<std::unique_ptr<grpc::Service>> MakeGraphService(
    const ServiceContext& context);
[[nodiscard]] std::unique_ptr<grpc::Service> MakeKvService(const ServiceContext& context);
[[nodiscard]] std::unique_ptr<grpc::Service> MakeAdminService(const ServiceContext& context);

}  // namespace halograph::server

// Between the handlers' values and the generated messages of proto/halograph/v1 that are not hot
// (those: server/wire.h). Pure functions. No generated header is needed to include this one.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "common/base/status.h"
#include "server/handlers/describe.h"
#include "server/handlers/task_set.h"
#include "server/handlers/topology_files.h"

namespace halograph::server {

[[nodiscard]] StatusOr<grpc::ByteBuffer> ToDescribeReply(const Description& description);
[[nodiscard]] StatusOr<grpc::ByteBuffer> ToStatsReply(const ServerSnapshot& snapshot);

// InvalidArgument if the bytes are no such message.
[[nodiscard]] StatusOr<TaskSetRequest> ParseTaskSetRequest(grpc::ByteBuffer* bytes);
[[nodiscard]] StatusOr<TopologyRequest> ParseTopologyRequest(grpc::ByteBuffer* bytes);
// Those of an empty message, unknown fields allowed.
[[nodiscard]] Status CheckDescribeRequest(grpc::ByteBuffer* bytes);
[[nodiscard]] Status CheckStatsRequest(grpc::ByteBuffer* bytes);

}  // namespace halograph::server

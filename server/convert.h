// Between the handlers' values and the generated messages of proto/halograph/v1 that are not hot
// (those: server/wire.h). Pure functions. No generated header is needed to include this one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "common/base/status.h"
#include "common/state/state_store.h"
#include "server/handlers/describe.h"
#include "server/handlers/list_pages.h"
#include "server/handlers/task_set.h"
#include "server/handlers/topology_files.h"
#include "server/runtime/buffer_pool.h"

namespace halograph::server {

[[nodiscard]] StatusOr<grpc::ByteBuffer> ToDescribeReply(const Description& description);

// InvalidArgument if the bytes are no such message.
[[nodiscard]] StatusOr<TaskSetRequest> ParseTaskSetRequest(grpc::ByteBuffer* bytes);
[[nodiscard]] StatusOr<TopologyRequest> ParseTopologyRequest(grpc::ByteBuffer* bytes);
// These two FailedPrecondition also: CheckNoImportMark, of a call that is no import's.
[[nodiscard]] StatusOr<MutableTensorSpec> ParseCreateTensorRequest(grpc::ByteBuffer* bytes);
[[nodiscard]] StatusOr<TensorRef> ParseDropTensorRequest(grpc::ByteBuffer* bytes);
[[nodiscard]] StatusOr<uint32_t> ParseRegisterClientRequest(grpc::ByteBuffer* bytes);  // the part
[[nodiscard]] StatusOr<grpc::ByteBuffer> ToRegisterClientReply(uint64_t client, int64_t lsn);
struct SnapshotRequest {
  std::string name;
  std::optional<int64_t> step;
};
[[nodiscard]] StatusOr<SnapshotRequest> ParseSnapshotTensorsRequest(grpc::ByteBuffer* bytes);
struct ReadSnapshotRequest {
  std::string name;
  TensorRef tensor;
  int64_t part = 0;
  SnapshotPlace place;
  int64_t max_bytes = 0;
};
[[nodiscard]] StatusOr<ReadSnapshotRequest> ParseReadSnapshotRequest(grpc::ByteBuffer* bytes);
// Of DeleteSnapshot and RestoreSnapshot, whose requests are alike.
[[nodiscard]] StatusOr<std::string> ParseSnapshotName(grpc::ByteBuffer* bytes);
// A message without fields.
[[nodiscard]] grpc::ByteBuffer EmptyReply();
[[nodiscard]] StatusOr<grpc::ByteBuffer> ToSnapshotTensorsReply(
    const std::map<int, SnapshotInfo>& parts);

[[nodiscard]] StatusOr<PageRequest> ParseListTensorsRequest(grpc::ByteBuffer* bytes);
[[nodiscard]] StatusOr<SnapshotsRequest> ParseListSnapshotsRequest(grpc::ByteBuffer* bytes);
// What entries of the lists take in their messages.
[[nodiscard]] EntryBytes BytesOfEntries();
// In a buffer of `memory`. Errors as WriteMessage (server/wire.h).
[[nodiscard]] Status WriteListTensorsReply(const TensorPage& page, int64_t max_bytes,
                                           ReplyMemory& memory, grpc::ByteBuffer* reply);
[[nodiscard]] Status WriteListSnapshotsReply(const SnapshotsPage& page, int64_t max_bytes,
                                             ReplyMemory& memory, grpc::ByteBuffer* reply);

// Those of an empty message, unknown fields allowed.
[[nodiscard]] Status CheckDescribeRequest(grpc::ByteBuffer* bytes);

}  // namespace halograph::server

// The hot messages of proto/halograph/v1 between gRPC's buffers and the handlers' values: what
// proto/wire reads and writes by hand, in memory that is bounded before it is taken. Ids and rows
// are copied once. Functions are thread-safe.
#pragma once

#include <memory>

#include <grpcpp/support/byte_buffer.h>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/state/state_store.h"
#include "proto/wire/column_sums.h"
#include "proto/wire/extract.h"
#include "proto/wire/push.h"
#include "server/handlers/column_sums.h"
#include "server/handlers/extract.h"
#include "server/handlers/pull.h"
#include "server/handlers/sample.h"
#include "server/handlers/task_set.h"
#include "server/handlers/topology_files.h"
#include "server/runtime/buffer_pool.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace halograph::server {

// A generated message whose size clients determine, in a buffer of `memory`.
//   ResourceExhausted  it has more than `max_bytes`
//   else               as ReplyMemory::Acquire
[[nodiscard]] Status WriteMessage(const google::protobuf::MessageLite& message, int64_t max_bytes,
                                  ReplyMemory& memory, grpc::ByteBuffer* reply);

// InvalidArgument if the bytes are no such message. Unknown fields are skipped.
[[nodiscard]] StatusOr<PullRequest> ParsePullRequest(const grpc::ByteBuffer& bytes);
[[nodiscard]] StatusOr<LayerSampleRequest> ParseSampleRequest(const grpc::ByteBuffer& bytes);
[[nodiscard]] StatusOr<wire::ColumnSumsRequest> ParseColumnSumsRequest(
    const grpc::ByteBuffer& bytes);
[[nodiscard]] StatusOr<wire::ExtractRequest> ParseExtractRequest(const grpc::ByteBuffer& bytes);
[[nodiscard]] StatusOr<wire::PushRequest> ParsePushRequest(const grpc::ByteBuffer& bytes);
[[nodiscard]] grpc::ByteBuffer WritePushReply(const PushReceipt& receipt);

// Gathers the rows into one buffer of `memory`, the message's header right before them; the reply
// owns the buffer until it has been sent. Errors as ReplyMemory::Acquire and PullHandler::Gather.
[[nodiscard]] Status WritePullReply(const PullHandler& handler, const PullPlan& plan,
                                    std::span<const int64_t> ids, ReplyMemory& memory,
                                    const WorkLimits& limits, grpc::ByteBuffer* reply);

// A page of a snapshot in a buffer of `memory`. Errors as ReplyMemory::Acquire.
[[nodiscard]] Status WriteSnapshotReply(const SnapshotPage& page, ReplyMemory& memory,
                                        grpc::ByteBuffer* reply);

// Draws the plans' sources into one buffer of `memory`. Errors as ReplyMemory::Acquire and
// SampleHandler::Draw.
[[nodiscard]] Status WriteSampleReply(const SampleHandler& handler,
                                      std::span<const LayerSamplePlan> plans, ReplyMemory& memory,
                                      grpc::ByteBuffer* reply);

// Answers in one buffer of `memory`. Errors as ReplyMemory::Acquire.
[[nodiscard]] Status WriteColumnSumsReply(std::span<const ColumnSumsAnswer> answers,
                                          ReplyMemory& memory, grpc::ByteBuffer* reply);
[[nodiscard]] Status WriteExtractReply(std::span<const ExtractAnswer> answers, ReplyMemory& memory,
                                       grpc::ByteBuffer* reply);

// The page's rows are sent out of the mapped files; the reply keeps `graph` alive until then.
[[nodiscard]] grpc::ByteBuffer WriteTaskSetReply(const TaskSetPage& page,
                                                 const std::shared_ptr<const ServedGraph>& graph);

// The bytes are sent out of the mapped file; the reply keeps `files` alive until then.
[[nodiscard]] grpc::ByteBuffer WriteTopologyReply(
    const TopologyRange& range, const std::shared_ptr<const TopologyFiles>& files);

}  // namespace halograph::server

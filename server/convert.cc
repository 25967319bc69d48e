#include "server/convert.h"

#include "common/state/import_mark.h"
#include "halograph/v1/graph.pb.h"
#include "halograph/v1/kv.pb.h"
#include "proto/state/tensor_messages.h"
#include "server/messages.h"
#include "server/wire.h"

namespace halograph::server {
namespace {

template <typename Repeated>
void ToProto(const std::vector<TensorSpec>& tensors, Repeated* out) {
  for (const TensorSpec& tensor : tensors) {
    v1::TensorSpec* spec = out->Add();
    spec->set_name(tensor.name);
    spec->set_dtype(static_cast<v1::DType>(tensor.dtype));
    spec->set_rank(static_cast<uint32_t>(tensor.rank));
    spec->set_dim(tensor.dim);
    spec->set_sampling(tensor.sampling);
  }
}

void ToProto(const Task& task, v1::Task* out) {
  out->set_name(task.name);
  out->set_metadata_json(CanonicalJson(task.metadata));
  for (const TaskSetSpec& set : task.sets) {
    v1::TaskSetSpec* spec = out->add_sets();
    spec->set_set(set.set);
    spec->set_type(set.type);
    spec->set_edges(set.edges);
    spec->set_rows(set.rows);
    ToProto(set.arrays, spec->mutable_arrays());
  }
}

void ToProto(const Schema& schema, v1::Schema* out) {
  out->set_graph_name(schema.graph_name);
  for (const NodeType& type : schema.node_types) {
    v1::NodeType* node_type = out->add_node_types();
    node_type->set_name(type.name);
    node_type->set_count(type.count);
    ToProto(type.features, node_type->mutable_features());
  }
  for (const Relation& relation : schema.relations) {
    v1::Relation* triple = out->add_relations();
    triple->set_source(relation.source);
    triple->set_name(relation.name);
    triple->set_destination(relation.destination);
    triple->set_count(relation.count);
    ToProto(relation.features, triple->mutable_features());
  }
  for (const Task& task : schema.tasks) ToProto(task, out->add_tasks());
}

void ToProto(std::span<const int64_t> boundaries, v1::Boundaries* out) {
  out->mutable_values()->Add(boundaries.begin(), boundaries.end());
}

void ToProto(const Schema& schema, const PartitionBook& book, v1::PartitionBook* out) {
  for (size_t t = 0; t < schema.node_types.size(); ++t) {
    ToProto(book.NodeBoundaries(static_cast<int>(t)), out->add_nodes());
  }
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    ToProto(book.EdgeBoundaries(static_cast<int>(r)), out->add_edges());
  }
}

void ToProto(const TaskSetRows& rows, v1::TaskRows* out) {
  out->set_task(rows.task->name);
  out->set_set(rows.set->set);
  out->set_type(rows.set->type);
  out->set_part(static_cast<uint32_t>(rows.part));
  out->set_rows(rows.rows);
}

void ToProto(int part, const std::vector<int64_t>& bounds, v1::PartClusters* out) {
  out->set_part(static_cast<uint32_t>(part));
  for (size_t c = 1; c < bounds.size(); ++c) out->add_nodes(bounds[c] - bounds[c - 1]);
}

}  // namespace

StatusOr<grpc::ByteBuffer> ToDescribeReply(const Description& description) {
  v1::DescribeReply reply;
  reply.set_identity(description.identity);
  reply.set_format_version(description.format_version);
  reply.set_build_version(description.build_version);
  reply.set_sampling_contract(description.sampling_contract);
  ToProto(*description.schema, reply.mutable_schema());
  ToProto(*description.schema, *description.book, reply.mutable_book());
  for (const int part : description.parts) reply.add_parts(static_cast<uint32_t>(part));
  reply.set_max_message_bytes(description.max_message_bytes);
  for (const std::string& served : description.serving) reply.add_serving(served);
  for (const std::string& known : description.capabilities) reply.add_capabilities(known);
  for (const TaskSetRows& rows : description.task_rows) ToProto(rows, reply.add_task_rows());
  for (const int part : description.parts) {
    if (description.cluster_bounds.empty()) break;
    ToProto(part, description.cluster_bounds[static_cast<size_t>(part)], reply.add_clusters());
  }
  return Serialize(reply);
}

StatusOr<TaskSetRequest> ParseTaskSetRequest(grpc::ByteBuffer* bytes) {
  v1::ReadTaskSetRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  TaskSetRequest request;
  request.task = message.task();
  request.set = message.set();
  request.type = message.type();
  request.part = message.part();
  request.first_row = message.first_row();
  request.max_rows = message.max_rows();
  return request;
}

StatusOr<TopologyRequest> ParseTopologyRequest(grpc::ByteBuffer* bytes) {
  v1::ReadTopologyRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  return TopologyRequest{.part = message.part(),
                         .path = message.path(),
                         .offset = message.offset(),
                         .length = message.length()};
}

StatusOr<MutableTensorSpec> ParseCreateTensorRequest(grpc::ByteBuffer* bytes) {
  v1::CreateTensorRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  HG_ASSIGN_OR_RETURN(MutableTensorSpec spec, ToSpec(message.spec()));
  if (!message.of_import()) HG_RETURN_IF_ERROR(CheckNoImportMark(spec.ref));
  return spec;
}

StatusOr<TensorRef> ParseDropTensorRequest(grpc::ByteBuffer* bytes) {
  v1::DropTensorRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  TensorRef ref{message.edge(), message.type(), message.name()};
  if (!message.of_import()) HG_RETURN_IF_ERROR(CheckNoImportMark(ref));
  return ref;
}

StatusOr<SnapshotRequest> ParseSnapshotTensorsRequest(grpc::ByteBuffer* bytes) {
  v1::SnapshotTensorsRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  SnapshotRequest request{.name = message.name(), .step = {}};
  if (message.has_step()) request.step = message.step();
  return request;
}

StatusOr<ReadSnapshotRequest> ParseReadSnapshotRequest(grpc::ByteBuffer* bytes) {
  v1::ReadSnapshotRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  return ReadSnapshotRequest{.name = message.name(),
                             .tensor = {message.edge(), message.type(), message.tensor()},
                             .part = message.part(),
                             .place = {.file = message.place().file(),
                                       .offset = message.place().offset(),
                                       .section = message.place().section(),
                                       .row = message.place().row()},
                             .max_bytes = message.max_bytes()};
}

StatusOr<uint32_t> ParseRegisterClientRequest(grpc::ByteBuffer* bytes) {
  v1::RegisterClientRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  return message.part();
}

StatusOr<grpc::ByteBuffer> ToRegisterClientReply(uint64_t client, int64_t lsn) {
  v1::RegisterClientReply reply;
  reply.set_client(client);
  reply.set_lsn(lsn);
  return Serialize(reply);
}

StatusOr<std::string> ParseSnapshotName(grpc::ByteBuffer* bytes) {
  v1::DeleteSnapshotRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  return message.name();
}

grpc::ByteBuffer EmptyReply() {
  const grpc::Slice nothing;
  return {&nothing, 1};
}

StatusOr<grpc::ByteBuffer> ToSnapshotTensorsReply(const std::map<int, SnapshotInfo>& parts) {
  v1::SnapshotTensorsReply reply;
  for (const auto& [part, info] : parts) ToProto(part, info, reply.add_snapshots());
  return Serialize(reply);
}

StatusOr<PageRequest> ParseListTensorsRequest(grpc::ByteBuffer* bytes) {
  v1::ListTensorsRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  return PageRequest{.size = message.page_size(), .token = message.page_token()};
}

StatusOr<SnapshotsRequest> ParseListSnapshotsRequest(grpc::ByteBuffer* bytes) {
  v1::ListSnapshotsRequest message;
  HG_RETURN_IF_ERROR(Parse(bytes, &message));
  return SnapshotsRequest{.page = {.size = message.page_size(), .token = message.page_token()},
                          .name = message.name(),
                          .without_tensors = message.without_tensors()};
}

EntryBytes BytesOfEntries() {
  return {.tensor = [](const MutableTensorStats& tensor) { return MessageBytes(tensor); },
          .snapshot = [](const SnapshotInfo& info) { return MessageBytes(info); },
          .spec = [](const MutableTensorSpec& spec) { return MessageBytes(spec); }};
}

Status WriteListTensorsReply(const TensorPage& page, int64_t max_bytes, ReplyMemory& memory,
                             grpc::ByteBuffer* reply) {
  v1::ListTensorsReply message;
  for (const auto& [part, stats] : page.parts) ToProto(part, stats, message.add_parts());
  message.set_next_page_token(page.next);
  return WriteMessage(message, max_bytes, memory, reply);
}

Status WriteListSnapshotsReply(const SnapshotsPage& page, int64_t max_bytes, ReplyMemory& memory,
                               grpc::ByteBuffer* reply) {
  v1::ListSnapshotsReply message;
  for (const auto& [part, snapshots] : page.parts) {
    for (const SnapshotInfo& info : snapshots) ToProto(part, info, message.add_snapshots());
  }
  message.set_next_page_token(page.next);
  return WriteMessage(message, max_bytes, memory, reply);
}

Status CheckDescribeRequest(grpc::ByteBuffer* bytes) {
  v1::DescribeRequest message;
  return Parse(bytes, &message);
}

}  // namespace halograph::server

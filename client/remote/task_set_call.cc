#include "client/remote/task_set_call.h"

#include <vector>

#include "client/remote/message_io.h"
#include "halograph/v1/graph.pb.h"

namespace halograph {

namespace {

// The pages of one partition.
struct PartPages {
  int part = 0;
  int64_t rows = 0;
  std::vector<std::vector<std::byte>> arrays;
};

class TaskSetCalls {
 public:
  TaskSetCalls(Cluster* cluster, std::string task, const TaskSetSpec& spec)
      : cluster_(*cluster), task_(std::move(task)), spec_(spec) {}

  std::vector<Rpc> Plan();
  StatusOr<TaskSet> Assemble();

 private:
  Rpc ToRpc(PartPages* pages);
  Status OnReply(PartPages* pages, ReplyPieces reply, std::vector<Rpc>* more);
  Status AddPage(const v1::ReadTaskSetReply& wire, PartPages* pages) const;

  Cluster& cluster_;
  const std::string task_;
  const TaskSetSpec& spec_;
  std::vector<PartPages> parts_;  // each written by one call at a time
};

std::vector<Rpc> TaskSetCalls::Plan() {
  parts_.resize(static_cast<size_t>(cluster_.info().book.num_parts()));
  std::vector<Rpc> calls;
  for (size_t part = 0; part < parts_.size(); ++part) {
    parts_[part].part = static_cast<int>(part);
    parts_[part].arrays.resize(spec_.arrays.size());
    calls.push_back(ToRpc(&parts_[part]));
  }
  return calls;
}

Rpc TaskSetCalls::ToRpc(PartPages* pages) {
  Rpc rpc;
  rpc.server = cluster_.FeatureServer(pages->part);
  rpc.method = "GraphService/ReadTaskSet";
  rpc.make_request = [this, pages] {
    v1::ReadTaskSetRequest request;
    request.set_task(task_);
    request.set_set(spec_.set);
    request.set_type(spec_.type);
    request.set_part(static_cast<uint32_t>(pages->part));
    request.set_first_row(pages->rows);
    return request.SerializeAsString();
  };
  rpc.on_reply = [this, pages](ReplyPieces reply, std::vector<Rpc>* more) {
    return OnReply(pages, reply, more);
  };
  rpc.on_error = [this, server = rpc.server](const Status& error, std::vector<Rpc>*) {
    return cluster_.ExplainTooLarge(server, error);
  };
  return rpc;
}

Status TaskSetCalls::OnReply(PartPages* pages, ReplyPieces reply, std::vector<Rpc>* more) {
  v1::ReadTaskSetReply wire;
  HG_RETURN_IF_ERROR(ParseReply(reply, &wire));
  if (wire.total_rows() < 0 || wire.total_rows() > spec_.rows || wire.rows() < 0 ||
      wire.rows() > wire.total_rows() - pages->rows ||
      (wire.rows() == 0 && pages->rows < wire.total_rows())) {
    return DataLoss("ReadTaskSetReply: {} rows from row {} of {}; the set has {}", wire.rows(),
                    pages->rows, wire.total_rows(), spec_.rows);
  }
  HG_RETURN_IF_ERROR(AddPage(wire, pages));
  pages->rows += wire.rows();
  if (pages->rows < wire.total_rows()) more->push_back(ToRpc(pages));
  return OkStatus();
}

Status TaskSetCalls::AddPage(const v1::ReadTaskSetReply& wire, PartPages* pages) const {
  if (static_cast<size_t>(wire.arrays_size()) != spec_.arrays.size()) {
    return DataLoss("ReadTaskSetReply: {} arrays, expected {}", wire.arrays_size(),
                    spec_.arrays.size());
  }
  for (size_t i = 0; i < spec_.arrays.size(); ++i) {
    const TensorSpec& expected = spec_.arrays[i];
    const v1::Tensor& array = wire.arrays(static_cast<int>(i));
    const size_t bytes = static_cast<size_t>(wire.rows()) * expected.row_bytes();
    if (array.name() != expected.name ||
        static_cast<int>(array.dtype()) != static_cast<int>(expected.dtype) ||
        array.data().size() != bytes) {
      return DataLoss(
          "ReadTaskSetReply: array {} is '{}' of dtype {} with {} bytes, expected '{}' of dtype {} "
          "with {}",
          i, array.name(), static_cast<int>(array.dtype()), array.data().size(), expected.name,
          static_cast<int>(expected.dtype), bytes);
    }
    const auto data = std::as_bytes(std::span(array.data()));
    pages->arrays[i].insert(pages->arrays[i].end(), data.begin(), data.end());
  }
  return OkStatus();
}

StatusOr<TaskSet> TaskSetCalls::Assemble() {
  TaskSet set;
  set.spec = spec_;
  set.part_boundaries.push_back(0);
  for (const TensorSpec& spec : spec_.arrays) set.arrays.push_back({spec, {}});
  for (const PartPages& part : parts_) {
    set.part_boundaries.push_back(set.part_boundaries.back() + part.rows);
    for (size_t i = 0; i < set.arrays.size(); ++i) {
      std::vector<std::byte>& whole = set.arrays[i].data;
      whole.insert(whole.end(), part.arrays[i].begin(), part.arrays[i].end());
    }
  }
  if (set.part_boundaries.back() != spec_.rows) {
    return DataLoss("task '{}', set '{}' of '{}': the servers have {} rows, the schema says {}",
                    task_, spec_.set, spec_.type, set.part_boundaries.back(), spec_.rows);
  }
  return set;
}

}  // namespace

StatusOr<TaskSet> ReadTaskSetRemotely(Cluster* cluster, CallScope* scope, const std::string& task,
                                      const std::string& set, const std::string& type) {
  const Schema& schema = cluster->info().schema;
  HG_ASSIGN_OR_RETURN(const TaskSetIndex index, FindTaskSet(schema, task, set, type));
  TaskSetCalls calls(cluster, task, schema.tasks[index.task].sets[index.set]);
  HG_RETURN_IF_ERROR(cluster->rpc().Run(*scope, calls.Plan()));
  return calls.Assemble();
}

}  // namespace halograph

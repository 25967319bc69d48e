#include "client/remote/task_set_call.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "halograph/v1/graph.pb.h"
#include "proto/wire/read_replies.h"

namespace halograph {

namespace {

// The rows that one part gives, read page by page: one call at a time.
struct PartRows {
  int part = 0;
  IdRange rows;          // of the part
  int64_t read = 0;      // of them
  int64_t first_in = 0;  // where the first of them goes in the result
};

class TaskSetCalls {
 public:
  TaskSetCalls(Cluster* cluster, const TaskSetRef& set, TaskSet* result)
      : cluster_(*cluster), served_(cluster->served()), set_(set), result_(*result) {}

  // `part_rows`: as GraphInfo::task_rows, of the set.
  [[nodiscard]] std::vector<Rpc> Plan(std::span<const int64_t> part_rows);

 private:
  [[nodiscard]] Rpc ToRpc(PartRows* part) const;
  [[nodiscard]] Status OnReply(PartRows* part, ReplyPieces reply, std::vector<Rpc>* more) const;
  [[nodiscard]] Status AddPage(const wire::TaskSetReply& page, int64_t take,
                               const PartRows& part) const;

  Cluster& cluster_;
  const std::shared_ptr<const ServedParts> served_;
  const TaskSetRef& set_;
  TaskSet& result_;
  std::deque<PartRows> parts_;
};

std::vector<Rpc> TaskSetCalls::Plan(std::span<const int64_t> part_rows) {
  std::vector<Rpc> calls;
  const IdRange wanted = result_.rows;
  const Status planned = ForEachPart(part_rows, wanted, [&](int part, IdRange of_part) {
    const int64_t first = part_rows[static_cast<size_t>(part)] + of_part.begin;
    parts_.push_back({.part = part, .rows = of_part, .first_in = first - wanted.begin});
    calls.push_back(ToRpc(&parts_.back()));
    return OkStatus();
  });
  return planned.ok() ? std::move(calls) : std::vector<Rpc>();
}

Rpc TaskSetCalls::ToRpc(PartRows* part) const {
  const ReplicaSet& set = *served_->features().Find(part->part);
  Rpc rpc = RpcTo(set, served_->FirstWithout(set, RowOf(Method::kReadTaskSet).capability) < 0
                           ? Method::kReadTaskSet
                           : Method::kGraphReadTaskSet);
  rpc.make_request = [this, part] {
    v1::ReadTaskSetRequest request;
    request.set_task(set_.task);
    request.set_set(set_.set);
    request.set_type(set_.type);
    request.set_part(static_cast<uint32_t>(part->part));
    request.set_first_row(part->rows.begin + part->read);
    request.set_max_rows(part->rows.size() - part->read);
    return request.SerializeAsString();
  };
  rpc.on_reply = [this, part](ReplyPieces reply, std::vector<Rpc>* more) {
    return OnReply(part, reply, more);
  };
  rpc.on_error = [this](int asked, const Status& error, std::vector<Rpc>*) {
    return cluster_.ExplainTooLarge(asked, error);
  };
  return rpc;
}

Status TaskSetCalls::OnReply(PartRows* part, ReplyPieces reply, std::vector<Rpc>* more) const {
  HG_ASSIGN_OR_RETURN(const wire::TaskSetReply page,
                      wire::ReadTaskSetReply(reply, result_.arrays.size()));
  const int64_t first = part->rows.begin + part->read;
  if (page.total_rows < part->rows.end || page.total_rows > result_.spec.rows || page.rows <= 0 ||
      page.rows > page.total_rows - first) {
    return DataLoss("ReadTaskSetReply: {} rows from row {} of {}; rows {} to {} are asked for",
                    page.rows, first, page.total_rows, first, part->rows.end);
  }
  // An older server does not know where to stop.
  const int64_t take = std::min(page.rows, part->rows.size() - part->read);
  HG_RETURN_IF_ERROR(AddPage(page, take, *part));
  part->read += take;
  if (part->read < part->rows.size()) more->push_back(ToRpc(part));
  return OkStatus();
}

Status TaskSetCalls::AddPage(const wire::TaskSetReply& page, int64_t take,
                             const PartRows& part) const {
  if (page.arrays.size() != result_.arrays.size()) {
    return DataLoss("ReadTaskSetReply: {} arrays, expected {}", page.arrays.size(),
                    result_.arrays.size());
  }
  for (size_t i = 0; i < page.arrays.size(); ++i) {
    const TensorSpec& expected = result_.arrays[i].spec;
    const wire::TensorField& array = page.arrays[i];
    const size_t bytes = static_cast<size_t>(page.rows) * expected.row_bytes();
    if (array.name != expected.name || array.dtype != static_cast<uint32_t>(expected.dtype) ||
        array.data.size != bytes) {
      return DataLoss(
          "ReadTaskSetReply: array {} is '{}' of dtype {} with {} bytes, expected '{}' of dtype {} "
          "with {}",
          i, array.name, array.dtype, array.data.size, expected.name,
          static_cast<int>(expected.dtype), bytes);
    }
    std::byte* out = result_.arrays[i].data.data() +
                     static_cast<size_t>(part.first_in + part.read) * expected.row_bytes();
    size_t left = static_cast<size_t>(take) * expected.row_bytes();
    for (const std::span<const std::byte> run : array.data.runs) {
      const size_t count = std::min(left, run.size());
      if (count > 0) std::memcpy(out, run.data(), count);
      out += count;
      left -= count;
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<TaskSet> ReadTaskSetRemotely(Cluster* cluster, const TaskSetRef& set, IdRange rows,
                                      CallContext& context) {
  HG_RETURN_IF_ERROR(context.Check());
  const GraphInfo& info = cluster->info();
  HG_ASSIGN_OR_RETURN(const TaskSetIndex index, CheckTaskSet(info, set, rows));
  TaskSet result{.spec = info.schema.tasks[index.task].sets[index.set], .rows = rows, .arrays = {}};
  for (const TensorSpec& spec : result.spec.arrays) {
    result.arrays.push_back({spec, {}});
    result.arrays.back().data.resize(static_cast<size_t>(rows.size()) * spec.row_bytes());
  }
  TaskSetCalls calls(cluster, set, &result);
  HG_RETURN_IF_ERROR(
      cluster->rpc().Run(context, calls.Plan(info.task_rows[index.task][index.set])));
  return result;
}

}  // namespace halograph

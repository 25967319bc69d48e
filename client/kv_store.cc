#include "client/kv_store.h"

#include <algorithm>
#include <set>

#include "common/graph/owner_split.h"
#include "common/state/import_mark.h"

namespace halograph {
namespace {

StatusOr<const CatalogTensor*> CheckRequest(const TensorCatalog& tensors,
                                            const RowRequest& request) {
  HG_ASSIGN_OR_RETURN(const CatalogTensor* const tensor, tensors.Find(request.tensor));
  const size_t row_bytes = tensor->resolved.spec.row_bytes();
  const std::span<const int64_t> positions = request.positions;
  const size_t rows = row_bytes == 0 ? request.ids.size() : request.out.size() / row_bytes;
  const bool whole_rows = request.out.size() == rows * row_bytes;
  if (!whole_rows || (positions.empty() && rows != request.ids.size())) {
    return InvalidArgument("{}: the destination has {} bytes, {} rows of {} bytes need {}",
                           request.tensor.ToString(), request.out.size(), request.ids.size(),
                           row_bytes, request.ids.size() * row_bytes);
  }
  HG_RETURN_IF_ERROR(CheckIdRange(request.ids, tensor->resolved.rows, request.tensor.ToString()));
  if (!request.after.empty() && request.after.size() + 1 != tensor->boundaries.size()) {
    return InvalidArgument("{}: `after` has {} numbers for {} partitions",
                           request.tensor.ToString(), request.after.size(),
                           tensor->boundaries.size() - 1);
  }
  if (positions.empty()) return tensor;
  if (positions.size() != request.ids.size()) {
    return InvalidArgument("{}: {} positions for {} ids", request.tensor.ToString(),
                           positions.size(), request.ids.size());
  }
  const size_t outside = FindOutside(positions, static_cast<int64_t>(rows));
  if (outside == positions.size()) return tensor;
  return InvalidArgument("{}: position {} of id {} is outside the destination's {} rows",
                         request.tensor.ToString(), positions[outside], request.ids[outside], rows);
}

}  // namespace

void RowsInPlace::Find(std::span<const int64_t> ids, std::span<const std::byte*> rows) const {
  size_t part = 0;  // of the id before, which most have too
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < boundaries[part] || ids[i] >= boundaries[part + 1]) {
      part = static_cast<size_t>(FindRange(boundaries, ids[i]));
    }
    rows[i] = by_part[part] + static_cast<size_t>(ids[i] - boundaries[part]) * row_bytes;
  }
}

StatusOr<std::vector<const CatalogTensor*>> CheckPull(const TensorCatalog& tensors,
                                                      std::span<const RowRequest> requests) {
  std::vector<const CatalogTensor*> found;
  found.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto tensor = CheckRequest(tensors, requests[i]);
    if (!tensor.ok()) {
      return requests.size() == 1 ? tensor.status()
                                  : Annotate(tensor.status(), fmt::format("request {}", i));
    }
    found.push_back(*tensor);
  }
  return found;
}

StatusOr<TaskSetIndex> CheckTaskSet(const GraphInfo& info, const TaskSetRef& set, IdRange rows) {
  HG_ASSIGN_OR_RETURN(const TaskSetIndex index,
                      FindTaskSet(info.schema, set.task, set.set, set.type));
  const int64_t count = info.schema.tasks[index.task].sets[index.set].rows;
  if (rows.begin >= 0 && rows.begin <= rows.end && rows.end <= count) return index;
  return OutOfRange("rows [{}, {}) of task set '{} / {} / {}' are asked for; it has {}", rows.begin,
                    rows.end, set.task, set.set, set.type, count);
}

Status ForEachPart(std::span<const int64_t> boundaries, IdRange rows,
                   const std::function<Status(int part, IdRange of_part)>& read) {
  for (size_t part = 0; part + 1 < boundaries.size(); ++part) {
    const int64_t begin = std::max(rows.begin, boundaries[part]);
    const int64_t end = std::min(rows.end, boundaries[part + 1]);
    if (begin >= end) continue;
    HG_RETURN_IF_ERROR(
        read(static_cast<int>(part), {begin - boundaries[part], end - boundaries[part]}));
  }
  return OkStatus();
}

std::span<const int64_t> TaskSet::seeds() const {
  const std::vector<std::byte>& data = arrays.front().data;
  return {reinterpret_cast<const int64_t*>(data.data()), data.size() / sizeof(int64_t)};
}

StatusOr<const TaskArray*> TaskSet::Find(std::string_view name) const {
  std::string names;
  for (const TaskArray& array : arrays) {
    if (array.spec.name == name) return &array;
    names += (names.empty() ? "'" : ", '") + array.spec.name + "'";
  }
  return NotFound("set '{}' of '{}' has no array '{}'; it has {}", spec.set, spec.type, name,
                  names);
}

namespace {

Status NoMutableTensors(const std::string& what) {
  return FailedPrecondition(
      "{}: this store keeps no mutable tensors. Start halograph-server with --state DIR, or give "
      "--state DIR to a trainer without servers",
      what);
}

}  // namespace

Status KVStore::CreateTensor(const MutableTensorSpec& spec, CallContext& /*context*/) {
  return NoMutableTensors(spec.ref.ToString());
}

Status KVStore::DropTensor(const TensorRef& ref, CallContext& /*context*/) {
  return NoMutableTensors(ref.ToString());
}

StatusOr<std::vector<MutableTensorState>> KVStore::ListTensors(CallContext& /*context*/) {
  return NoMutableTensors("the list of tensors");
}

StatusOr<PushMark> KVStore::Push(const RowPush& push, CallContext& /*context*/) {
  return NoMutableTensors(push.tensor.ToString());
}

Status KVStore::SnapshotTensors(const std::string& name, std::optional<int64_t> /*step*/,
                                CallContext& /*context*/) {
  return NoMutableTensors("snapshot " + name);
}

StatusOr<std::map<int, std::vector<SnapshotInfo>>> KVStore::ListSnapshots(
    CallContext& /*context*/) {
  return NoMutableTensors("the list of snapshots");
}

StatusOr<int64_t> KVStore::ReadSnapshot(const std::string& name, const MutableTensorSpec& /*spec*/,
                                        const TakeImages& /*take*/, CallContext& /*context*/) {
  return NoMutableTensors("snapshot " + name);
}

Status KVStore::DeleteSnapshot(const std::string& name, CallContext& /*context*/) {
  return NoMutableTensors("snapshot " + name);
}

Status KVStore::RestoreSnapshot(const std::string& name, CallContext& /*context*/) {
  return NoMutableTensors("snapshot " + name);
}

StatusOr<std::vector<MutableTensorState>> MergeTensors(const std::map<int, StateStats>& states) {
  struct Told {
    int part = 0;  // that told first
    MutableTensorState tensor;
    size_t parts = 0;
  };
  std::map<std::string, Told> all;
  std::set<std::string> marks;  // names
  for (const auto& [part, state] : states) {
    for (const MutableTensorStats& tensor : state.tensors) {
      if (IsImportMark(tensor.spec.ref)) {
        marks.insert(tensor.spec.ref.name);
        continue;
      }
      Told& told = all.try_emplace(tensor.spec.ref.ToString(), Told{part, {.spec = tensor.spec}, 0})
                       .first->second;
      if (const Status same = told.tensor.spec.SameAs(tensor.spec); !same.ok()) {
        return DataLoss("partitions {} and {} have different tensors of one name: {}", told.part,
                        part, Message(same));
      }
      told.tensor.step = std::max(told.tensor.step, tensor.step);
      ++told.parts;
    }
  }
  std::vector<MutableTensorState> merged;
  for (auto& [name, told] : all) {
    if (told.parts != states.size()) {
      return DataLoss("{}: {} of {} partitions have it, among them {}: create it again, or drop it",
                      name, told.parts, states.size(), told.part);
    }
    merged.push_back(std::move(told.tensor));
    merged.back().importing = marks.contains(ImportMarkOf(merged.back().spec.ref).name);
  }
  return merged;
}

}  // namespace halograph

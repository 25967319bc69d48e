#include "client/kv_store.h"

#include <algorithm>

#include "common/graph/owner_split.h"

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

}  // namespace halograph

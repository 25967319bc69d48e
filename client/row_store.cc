#include "client/row_store.h"

#include "client/tensor_admin.h"
#include "common/graph/owner_split.h"

namespace halograph {
namespace {

StatusOr<const CatalogTensor*> CheckRequest(const TensorCatalog& tensors,
                                            const RowRequest& request) {
  HG_ASSIGN_OR_RETURN(const CatalogTensor* const tensor, tensors.Find(request.tensor));
  HG_RETURN_IF_ERROR(CheckRows(request, tensor->resolved.rows, tensor->resolved.spec.row_bytes()));
  if (!request.after.empty() && request.after.size() + 1 != tensor->boundaries.size()) {
    return InvalidArgument("{}: `after` has {} numbers for {} partitions",
                           request.tensor.ToString(), request.after.size(),
                           tensor->boundaries.size() - 1);
  }
  return tensor;
}

}  // namespace

Status CheckRows(const RowRequest& request, int64_t count, size_t row_bytes) {
  const std::span<const int64_t> positions = request.positions;
  const size_t rows = row_bytes == 0 ? request.ids.size() : request.out.size() / row_bytes;
  const bool whole_rows = request.out.size() == rows * row_bytes;
  if (!whole_rows || (positions.empty() && rows != request.ids.size())) {
    return InvalidArgument("{}: the destination has {} bytes, {} rows of {} bytes need {}",
                           request.tensor.ToString(), request.out.size(), request.ids.size(),
                           row_bytes, request.ids.size() * row_bytes);
  }
  HG_RETURN_IF_ERROR(CheckIdRange(request.ids, count, request.tensor.ToString()));
  if (positions.empty()) return OkStatus();
  if (positions.size() != request.ids.size()) {
    return InvalidArgument("{}: {} positions for {} ids", request.tensor.ToString(),
                           positions.size(), request.ids.size());
  }
  const size_t outside = FindOutside(positions, static_cast<int64_t>(rows));
  if (outside == positions.size()) return OkStatus();
  return InvalidArgument("{}: position {} of id {} is outside the destination's {} rows",
                         request.tensor.ToString(), positions[outside], request.ids[outside], rows);
}

void RowsInPlace::Find(std::span<const int64_t> ids, std::span<const std::byte*> rows) const {
  size_t part = 0;  // of the id before, which most have too
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < boundaries[part] || ids[i] >= boundaries[part + 1]) {
      part = static_cast<size_t>(FindRange(boundaries, ids[i]));
    }
    rows[i] = by_part[part] + static_cast<size_t>(ids[i] - boundaries[part]) * row_bytes;
  }
}

Status RefusePushes(std::span<const RowPush> pushes) {
  return NoMutableTensors(pushes.empty() ? "a push" : pushes.front().tensor.ToString());
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

}  // namespace halograph

#include "client/pull_check.h"

#include "common/graph/owner_split.h"

namespace halograph {

StatusOr<const CatalogTensor*> CheckPull(const TensorCatalog& tensors, const TensorRef& ref,
                                         std::span<const int64_t> ids,
                                         std::span<const std::byte> destination) {
  HG_ASSIGN_OR_RETURN(const CatalogTensor* const tensor, tensors.Find(ref));
  const size_t row_bytes = tensor->resolved.spec.row_bytes();
  if (destination.size() != ids.size() * row_bytes) {
    return InvalidArgument("{}: the destination has {} bytes, {} rows of {} bytes need {}",
                           ref.ToString(), destination.size(), ids.size(), row_bytes,
                           ids.size() * row_bytes);
  }
  HG_RETURN_IF_ERROR(CheckIdRange(ids, tensor->resolved.rows, ref.ToString()));
  return tensor;
}

}  // namespace halograph

#include "client/pull_check.h"

#include <algorithm>

namespace halograph {

StatusOr<ResolvedTensor> CheckPull(const Schema& schema, const TensorRef& ref,
                                   std::span<const int64_t> ids,
                                   std::span<const std::byte> destination) {
  HG_ASSIGN_OR_RETURN(ResolvedTensor tensor, ResolveTensor(schema, ref));
  const size_t bytes = ids.size() * tensor.spec.row_bytes();
  if (destination.size() != bytes) {
    return InvalidArgument("{}: the destination has {} bytes, {} rows of {} bytes need {}",
                           ref.ToString(), destination.size(), ids.size(), tensor.spec.row_bytes(),
                           bytes);
  }
  const auto outside =
      std::find_if(ids.begin(), ids.end(), [&](int64_t id) { return id < 0 || id >= tensor.rows; });
  if (outside == ids.end()) return tensor;
  return OutOfRange("{}: id {} at position {} is outside its {} rows", ref.ToString(), *outside,
                    outside - ids.begin(), tensor.rows);
}

}  // namespace halograph

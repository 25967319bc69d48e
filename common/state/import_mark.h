// How an import of a tensor that is not finished is told from a whole tensor: beside the tensor
// there is another one, its mark, from before the first row is set until after the last one. It is
// a tensor like any other: durable, listed by every server, and gone with the tensors around it
// when a snapshot is restored. PartStates refuses pulls, gradients and snapshots while it is there.
// Its name is reserved: a server creates and drops it for calls that say they are an import's.
#pragma once

#include <set>
#include <string>

#include "common/state/mutable_tensor.h"

namespace halograph {

// The mark of a tensor: of no graph object, "import-mark-" and a checksum of the tensor's full
// name.
[[nodiscard]] TensorRef ImportMarkOf(const TensorRef& ref);
[[nodiscard]] bool IsImportMark(const TensorRef& ref);
// The marks among tensors that were told.
class ImportMarks {
 public:
  // Whether it is one, and is noted.
  bool Add(const TensorRef& ref);
  // Whether the tensor is being imported.
  [[nodiscard]] bool HasThatOf(const TensorRef& ref) const;

 private:
  std::set<std::string> names_;
};
// FailedPrecondition if it is one: for calls that are not an import's.
[[nodiscard]] Status CheckNoImportMark(const TensorRef& ref);
// A row a partition.
[[nodiscard]] MutableTensorSpec ImportMarkSpec(const TensorRef& ref, int parts);

}  // namespace halograph

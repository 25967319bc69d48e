// A mutable tensor as files under original ids, which do not depend on how the graph is
// partitioned: DIR/ids.npy (int64, ascending), DIR/rows.npy (row i belongs to ids[i]; bfloat16 as
// uint16) and DIR/tensor.json (its specification). Rows only: optimizer state is not part of it.
// Knows no gRPC.
#pragma once

#include <cstdint>
#include <filesystem>

#include "client/kv_store.h"

namespace halograph {

// What the store has under this name; `type` is a node type, a relation triple, or empty for rows
// of no graph object. NotFound naming what there is.
[[nodiscard]] StatusOr<MutableTensorSpec> FindTensorSpec(KVStore& store, const std::string& type,
                                                         const std::string& name,
                                                         CallContext& context);

// Writes all rows as they are while it reads: pushes meanwhile may be in some rows and not in
// others. Returns how many.
//   AlreadyExists  `folder` is there
//   else           as KVStore::Pull and TemporaryFolder
[[nodiscard]] StatusOr<int64_t> ExportTensor(KVStore& store, const MutableTensorSpec& spec,
                                             const std::filesystem::path& folder,
                                             CallContext& context);

// Sets the rows of `folder` in the store; the tensor is created if it is missing. Rows that the
// folder does not have stay as they are. Returns how many were set.
//   InvalidArgument  the store has another specification: the difference is named
//   NotFound         a file is missing; an id that the graph does not have: named
//   DataLoss         files that do not fit each other
//   else             as KVStore::Push
[[nodiscard]] StatusOr<int64_t> ImportTensor(KVStore& store, const std::filesystem::path& folder,
                                             CallContext& context);

}  // namespace halograph

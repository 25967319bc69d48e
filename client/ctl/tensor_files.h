// Mutable tensors as files under original ids, which do not depend on how the graph is partitioned.
// Knows no gRPC.
//
// A tensor's folder:
//   ids.npy      int64, ascending
//   rows.npy     row i belongs to ids[i]; bfloat16 as uint16
//   tensor.json  `spec`, its specification; `state`, the files below; `step`, the last one applied
//   and, of a snapshot, the optimizer's state, a file a column, row i for ids[i]:
//   momentum.npy (SGD with momentum), sum.npy (Adagrad; of row-wise Adagrad one number a row),
//   m.npy, v.npy and updates.npy (Adam)
//   checksums.json  of the other files (export_checksums.h)
// A snapshot's folder: snapshot.json, a tensor's folder each, and checksums.json of snapshot.json
// and those of the tensors' folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "client/stores.h"

namespace halograph {

// All but ExportTensor require `stores.admin`.

// What the stores have under this name; `type` is a node type, a relation triple, or empty for rows
// of no graph object. NotFound naming what there is.
[[nodiscard]] StatusOr<MutableTensorSpec> FindTensorSpec(const Stores& stores,
                                                         const std::string& type,
                                                         const std::string& name,
                                                         CallContext& context);

// Writes all rows as they are while it reads, without optimizer state: pushes meanwhile may be in
// some rows and not in others. Returns how many.
//   AlreadyExists  `folder` is there
//   else           as RowStore::Pull and TemporaryFolder
[[nodiscard]] StatusOr<int64_t> ExportTensor(const Stores& stores, const MutableTensorSpec& spec,
                                             const std::filesystem::path& folder,
                                             CallContext& context);

// What all partitions have of a snapshot.
//   NotFound  a partition lacks the snapshot: named
//   DataLoss  partitions differ: which, and in what
[[nodiscard]] StatusOr<std::vector<MutableTensorSpec>> TensorsOfSnapshot(const Stores& stores,
                                                                         const std::string& name,
                                                                         CallContext& context);

struct FileCounts {
  int64_t tensors = 0;
  int64_t rows = 0;
  // Of an import. Rows with an infinite or NaN value, or such a number in their optimizer's state;
  // and whether all files had checksums, and fitted them.
  int64_t not_finite_rows = 0;
  bool checked = false;
};

inline constexpr size_t kExportBufferBytes = size_t{64} << 20;

// Writes tensors as they were at a snapshot, with their optimizer state. `specs`: some of
// TensorsOfSnapshot. Rows are written where they stand in the files as partitions send them, so
// that it takes bounded memory however large the tensors are: `buffer_bytes` of rows that wait to
// be written, what partitions send at a time, and ids, which beyond 256 MiB are in files.
//   AlreadyExists      `folder` is there
//   ResourceExhausted  the disk is full
//   else               as TensorAdmin::ReadSnapshot and TemporaryFolder
[[nodiscard]] StatusOr<FileCounts> ExportSnapshot(const Stores& stores, const std::string& name,
                                                  std::span<const MutableTensorSpec> specs,
                                                  const std::filesystem::path& folder,
                                                  CallContext& context,
                                                  size_t buffer_bytes = kExportBufferBytes);

// Sets what is in a tensor's or snapshot's folder, bit by bit, infinite and NaN rows too; tensors
// that are missing are created. The folder must have all rows of a tensor, each once. With
// optimizer state rows and state are replaced, and steps go on behind the folder's; without, all
// optimizer state stays as it is.
//
// All is checked before anything is marked: files against their checksums, ids, values, and what
// the stores have. What is refused leaves the rows of every tensor as they were and readable; a
// tensor may have been created where another one was refused room.
// Until all rows of all tensors are set, each has an import mark (common/state/import_mark.h):
// pulls of it are refused. After an error of a push, or where this is interrupted, they stay so
// until it is repeated or they are dropped. Nobody else may push to the tensors meanwhile.
//   InvalidArgument     the stores have another specification: the difference is named
//   FailedPrecondition  with optimizer state: a tensor whose steps are beyond those of the folder,
//                       or 2^32 below; a server of an older version that would refuse rows that
//                       are not finite
//   NotFound            a file is missing; an id that the graph does not have: named
//   DataLoss            files that do not fit each other or their checksums; an id that is missing
//                       or there twice; a tensor that is there twice; optimizer state that no
//                       optimizer makes
//   else                as TensorAdmin::Create and RowStore::Push
[[nodiscard]] StatusOr<FileCounts> ImportTensors(const Stores& stores,
                                                 const std::filesystem::path& folder,
                                                 CallContext& context);

}  // namespace halograph

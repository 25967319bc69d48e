// The files of tensor_files.h: which there are, and what each has of a row. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "client/stores.h"
#include "common/storage/npy.h"

namespace halograph {

inline constexpr char kIdsFile[] = "ids.npy";
inline constexpr size_t kIdsAtATime = 65536;

// A file beside ids.npy, and how much of a row's image it has. The images' bytes are those of the
// columns one after the other (common/state/row_layout.h).
struct Column {
  std::string file;
  StoredArray stored;
  size_t bytes;  // of a row
};

[[nodiscard]] Column RowsColumn(const MutableTensorSpec& spec);
// Of the optimizer; maybe none.
[[nodiscard]] std::vector<Column> StateColumns(const MutableTensorSpec& spec);

// One tensor's folder, open and checked, but for its ids and values.
struct TensorFolder {
  std::filesystem::path path;
  MutableTensorSpec spec;
  int64_t step = -1;
  bool state = false;           // it has the optimizer's state
  std::vector<Column> columns;  // rows first
  NpyArray ids;
  std::vector<NpyArray> files;  // of columns

  [[nodiscard]] std::span<const int64_t> original_ids() const { return *ids.As<int64_t>(); }
  [[nodiscard]] size_t row_bytes() const {
    size_t bytes = 0;
    for (const Column& column : columns) bytes += column.bytes;
    return bytes;
  }
};

// How many rows are read or pushed at a time.
[[nodiscard]] size_t RowsAtATime(size_t row_bytes);

// What an import reads.
struct ExportFolder {
  std::vector<TensorFolder> tensors;  // each another tensor
  bool checked = false;               // all files had checksums (export_checksums.h)
};

// Writes the description of a tensor's folder, whose other files are there, and the one of a
// snapshot's, whose tensors' folders are named; then the checksums of the folder.
[[nodiscard]] Status WriteTensorJson(const std::filesystem::path& folder,
                                     const MutableTensorSpec& spec,
                                     const std::vector<Column>& state, int64_t step);
[[nodiscard]] Status WriteSnapshotJson(const std::filesystem::path& folder,
                                       const std::string& snapshot,
                                       const std::vector<std::string>& tensors);

// Opens a snapshot's folder, or a tensor's, and checks that the files fit each other, and have
// their checksums, if there are any.
//   NotFound  a file is missing
//   DataLoss  files that do not fit each other, or that were changed: path, what was found and what
//             was expected
[[nodiscard]] StatusOr<ExportFolder> OpenExport(const std::filesystem::path& path);

// How many rows a tensor has in the store's graph. NotFound: a type that the graph does not have.
[[nodiscard]] StatusOr<int64_t> RowsOf(const Stores& stores, const MutableTensorSpec& spec);
// The original id of every row by its global id; rows of no graph object have one id. `original`
// has RowsOf numbers.
[[nodiscard]] Status ReadOriginalIds(const Stores& stores, const MutableTensorSpec& spec,
                                     std::span<int64_t> original, CallContext& context);
// Writes global ids in the order of their original ones.
void SortByOriginal(std::span<const int64_t> original, std::span<int64_t> global);

}  // namespace halograph

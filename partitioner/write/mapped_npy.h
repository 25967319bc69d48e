// A .npy file that is being written through a shared mapping, in any order. There is no buffer,
// so a file of any size takes no anonymous memory.
#pragma once

#include <cstdint>
#include <filesystem>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/storage/dtype.h"

namespace halograph {

// Movable; not thread-safe for overlapping writes. Dropped without Close the file stays incomplete:
// the folder it is in must not have been renamed yet.
class MappedNpy {
 public:
  MappedNpy() = default;
  // Creates `path` and its parent folders, and claims the disk space at once, so that a full disk
  // is this error and no signal later: ResourceExhausted with the path and the bytes wanted.
  // AlreadyExists if the file exists. `rank` 1 makes shape [rows], 2 [rows, cols].
  [[nodiscard]] static StatusOr<MappedNpy> Create(const std::filesystem::path& path, DType dtype,
                                                  int64_t rows, int64_t cols = 1, int rank = 1);
  // What holds so many rows of a tensor (StoredAs).
  [[nodiscard]] static StatusOr<MappedNpy> Create(const std::filesystem::path& path,
                                                  const TensorSpec& spec, int64_t rows);
  ~MappedNpy();
  MappedNpy(MappedNpy&& other) noexcept;
  MappedNpy& operator=(MappedNpy&& other) noexcept;

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] size_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] std::byte* data() const { return mapping_ + header_bytes_; }
  // Requires T to be the element type (asserted only).
  template <typename T>
  [[nodiscard]] T* As() const {
    return reinterpret_cast<T*>(data());
  }

  // Tells the kernel that rows [0, row) are complete and will not be touched again: keeps the
  // resident size of long sequential writes small.
  void ReleaseBefore(int64_t row);
  // Unmaps and has the kernel start to write; what is on disk is known after SyncFileSystem.
  [[nodiscard]] Status Close();

 private:
  void Unmap();

  std::filesystem::path path_;
  int64_t rows_ = 0;
  size_t row_bytes_ = 0;
  size_t header_bytes_ = 0;
  size_t released_ = 0;  // bytes from the start that were given back
  std::byte* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
};

// Waits until all that was written to the folder's file system is on disk. One call for thousands
// of small files (a graph of 237 relations took 34 s with an fsync each, and 2 s so). Reports
// errors of writing back.
[[nodiscard]] Status SyncFileSystem(const std::filesystem::path& folder);

}  // namespace halograph

// A .npy file of rank 1 that is written front to back; its length is known at the end. Large
// pieces are written directly, small ones through a small buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/storage/dtype.h"
#include "partitioner/write/raw_file.h"

namespace halograph {

// Movable; not thread-safe. Dropped without Close the file stays incomplete: the folder it is in
// must not have been renamed yet.
class NpyAppender {
 public:
  NpyAppender() = default;
  // Creates `path` and its parent folders; AlreadyExists if the file exists.
  [[nodiscard]] static StatusOr<NpyAppender> Create(const std::filesystem::path& path, DType dtype);

  // Whole elements. ResourceExhausted with the path on a full disk.
  [[nodiscard]] Status Append(std::span<const std::byte> bytes);
  template <typename T>
  [[nodiscard]] Status Append(std::span<const T> values) {
    return Append(std::as_bytes(values));
  }
  // Completes the header and closes; what is on disk is known after SyncFileSystem.
  [[nodiscard]] Status Close();

 private:
  [[nodiscard]] std::string Header(int64_t rows) const;
  [[nodiscard]] Status Flush();
  [[nodiscard]] Status Put(std::span<const std::byte> bytes);

  RawFile file_;
  DType dtype_ = DType::kInt64;
  int64_t header_bytes_ = 0;
  int64_t flushed_ = 0;  // bytes in the file
  int64_t started_ = 0;  // of those, given to the disk
  std::vector<std::byte> buffer_;
};

}  // namespace halograph

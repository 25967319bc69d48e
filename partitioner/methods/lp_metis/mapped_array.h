// Arrays in files without a name: mapped, written in any order, and removed with the object or
// when the process ends, however it ends. They take no anonymous memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "common/base/status.h"

namespace halograph {

// Movable; as thread-safe as plain memory.
class ScratchMapping {
 public:
  ScratchMapping() = default;
  // A zeroed mapping of a new file in `folder`, whose disk space is claimed at once. An empty path
  // takes the system's folder for temporary files.
  //   ResourceExhausted  no room on the disk (folder, what it is for, and bytes)
  //   NotFound, FailedPrecondition  no such folder, or not writable
  [[nodiscard]] static StatusOr<ScratchMapping> Create(const std::filesystem::path& folder,
                                                       size_t bytes, std::string_view what);
  ~ScratchMapping() { Unmap(); }
  ScratchMapping(ScratchMapping&& other) noexcept { *this = std::move(other); }
  ScratchMapping& operator=(ScratchMapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  // Tells the kernel that these bytes will not be needed soon: what was written stays.
  void Release(size_t begin, size_t end) const;

 private:
  void Unmap();

  void* data_ = nullptr;
  size_t bytes_ = 0;
};

template <typename T>
class MappedArray {
 public:
  MappedArray() = default;
  // Errors as ScratchMapping::Create.
  [[nodiscard]] static StatusOr<MappedArray> Create(const std::filesystem::path& folder,
                                                    int64_t count, std::string_view what) {
    MappedArray array;
    HG_ASSIGN_OR_RETURN(array.mapping_, ScratchMapping::Create(
                                            folder, static_cast<size_t>(count) * sizeof(T), what));
    return array;
  }

  [[nodiscard]] T* data() const { return static_cast<T*>(mapping_.data()); }
  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(mapping_.bytes() / sizeof(T)); }
  [[nodiscard]] bool empty() const { return mapping_.bytes() == 0; }
  void Release(int64_t begin, int64_t end) const {
    mapping_.Release(static_cast<size_t>(begin) * sizeof(T), static_cast<size_t>(end) * sizeof(T));
  }

 private:
  ScratchMapping mapping_;
};

}  // namespace halograph

// Large arrays that a computation keeps for a while: in memory as far as a bound allows, else in
// mapped files. A file has no name from the moment it is made, so that nothing is left of it,
// however the process ends. Its pages are the system's cache: they do not count for the bound, and
// go to the disk where memory is short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

// Movable. Its bytes are zeros at first, at a page's start, and live as long as it does.
class ScratchArray {
 public:
  ScratchArray() = default;
  ~ScratchArray();
  ScratchArray(ScratchArray&& other) noexcept;
  ScratchArray& operator=(ScratchArray&& other) noexcept;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  // All of it as values of one type. Requires whole values.
  template <typename T>
  [[nodiscard]] std::span<T> As() const {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }
  [[nodiscard]] bool in_file() const { return in_file_; }

 private:
  friend class ScratchSpace;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool in_file_ = false;
  std::shared_ptr<int64_t> room_;  // of the space, to which what is in memory goes back
};

// Not thread-safe.
class ScratchSpace {
 public:
  // `memory`: bytes that its arrays in memory may take together. `folder`: where files go.
  ScratchSpace(int64_t memory, std::filesystem::path folder);

  // A new array of so many bytes; of none: an empty one. `what` is it, for messages: "rows of layer
  // 1".
  //   ResourceExhausted   no room in memory or on the disk: figures and the folder are named
  //   else                as ErrnoStatus, with the folder
  [[nodiscard]] StatusOr<ScratchArray> Take(int64_t bytes, std::string_view what);

  // Whether arrays of `sizes` would find room on the disk, each made while the one before it is
  // there, and no other. ResourceExhausted as CheckDiskSpace.
  [[nodiscard]] Status Check(std::span<const int64_t> sizes) const;

  // So far, of arrays that are gone too.
  [[nodiscard]] int64_t bytes_in_files() const { return bytes_in_files_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  [[nodiscard]] StatusOr<std::byte*> MapFile(int64_t bytes, std::string_view what);

  const std::filesystem::path folder_;
  const std::shared_ptr<int64_t> room_;  // bytes of memory that are left
  int64_t bytes_in_files_ = 0;
  int64_t files_ = 0;
};

}  // namespace halograph

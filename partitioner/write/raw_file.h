// A file that is written at any position, without a buffer. The writers build their own
// buffering and mapping on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "common/base/status.h"
#include "common/storage/disk_space.h"

namespace halograph {

// An open file, closed with the object. Movable; methods are as thread-safe as the system's. Errors
// carry the path; those of a full disk are ResourceExhausted.
class RawFile {
 public:
  RawFile() = default;
  // A new file, and its parent folders; AlreadyExists if the file exists.
  [[nodiscard]] static StatusOr<RawFile> Create(const std::filesystem::path& path);
  // One that exists.
  [[nodiscard]] static StatusOr<RawFile> Open(const std::filesystem::path& path);
  ~RawFile();
  RawFile(RawFile&& other) noexcept;
  RawFile& operator=(RawFile&& other) noexcept;

  // Claims the space of the first `bytes` bytes, so that a full disk is this error and no signal
  // when a mapping is written.
  [[nodiscard]] Status Reserve(size_t bytes) const;
  // `advice`: what to do about a full disk.
  [[nodiscard]] Status WriteAt(int64_t offset, std::span<const std::byte> bytes,
                               std::string_view advice = kFreeDiskSpace) const;
  // DataLoss if the file ends before.
  [[nodiscard]] Status ReadAt(int64_t offset, std::span<std::byte> bytes) const;
  // Has the kernel start to write a range to the disk; 0 bytes: to the end. Only a start: file
  // systems that cannot, or have nothing to write, lose nothing.
  void StartWriting(int64_t offset, int64_t bytes) const;
  [[nodiscard]] Status Close();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  RawFile(int fd, std::filesystem::path path);

  int fd_ = -1;
  std::filesystem::path path_;
};

}  // namespace halograph

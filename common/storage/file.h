// Files as the project reads and writes them: mapped read-only, or written once to a new name,
// synced and checked. Nothing half-written looks whole: see TemporaryFolder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/cancel.h"
#include "common/base/status.h"

namespace halograph {

// Opens a regular file to read and returns its descriptor, which the caller closes. Never waits: a
// pipe in the place of a file is refused, not opened. Everything that reads files goes through
// here.
//   NotFound            no such file
//   FailedPrecondition  a folder, pipe, socket or device, or not readable
[[nodiscard]] StatusOr<int> OpenToRead(const std::filesystem::path& path);

// A whole file mapped read-only and shared. Movable. Const methods are thread-safe; the span
// lives as long as the object. An empty file gives an empty span.
class MappedFile {
 public:
  MappedFile() = default;
  // Errors as OpenToRead.
  [[nodiscard]] static StatusOr<MappedFile> Open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  enum class Access { kNormal, kSequential, kRandom };
  // A hint to the kernel (madvise); failure is ignored.
  void Advise(Access access) const;
  // Tells the kernel that these pages will not be needed again soon (MADV_DONTNEED): keeps the
  // resident size of long scans small.
  void Release(size_t offset, size_t length) const;
  // How many of its bytes are in RAM, counted in pages. Nothing if the kernel does not tell, as it
  // does only to who owns the file or may write it, or once `ending` is cancelled, which is looked
  // at between pieces of 64 MiB: each takes 16 KiB of memory and less than a millisecond.
  [[nodiscard]] std::optional<int64_t> ResidentBytes(const CancelToken& ending) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Writes a new file front to back through a buffer. Not thread-safe. Dropped without Close the
// file stays incomplete: the folder it is in must not have been renamed yet.
class FileWriter {
 public:
  FileWriter() = default;
  // Creates `path` (and no folder); AlreadyExists if it exists.
  [[nodiscard]] static StatusOr<FileWriter> Create(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) noexcept;

  // ResourceExhausted with the path and the bytes missing on a full disk.
  [[nodiscard]] Status Append(std::span<const std::byte> bytes);
  [[nodiscard]] Status Append(std::string_view text);
  // So many zeros, whose room on the disk is claimed. ResourceExhausted naming path and bytes.
  [[nodiscard]] Status AppendZeros(int64_t bytes);
  // Writes over bytes appended before: OutOfRange beyond bytes_written().
  [[nodiscard]] Status Overwrite(int64_t offset, std::string_view bytes);
  // Flushes, fsyncs, closes.
  [[nodiscard]] Status Close();
  [[nodiscard]] int64_t bytes_written() const { return written_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  [[nodiscard]] Status Flush();
  std::filesystem::path path_;
  int fd_ = -1;
  int64_t written_ = 0;
  std::string buffer_;
};

// A new folder beside `target`, named "<target>.tmp-<pid>-<n>", that becomes `target` by rename.
// Dropped without Commit it is removed with all in it.
class TemporaryFolder {
 public:
  //   AlreadyExists       target exists (and `replace` is false): nothing is touched
  //   FailedPrecondition  the parent is missing or not writable
  // Left-overs of dead processes for the same target are removed first.
  [[nodiscard]] static StatusOr<TemporaryFolder> Create(const std::filesystem::path& target,
                                                        bool replace = false);
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // fsyncs the folders, renames to the target, fsyncs the parent. With `replace` the old target
  // and the new one change places at once where the file system can do that (else the old one is
  // first moved to "<target>.old-<pid>-<n>": who finds that without a target, after a process was
  // killed, may give it its name back); then the old one is removed. AlreadyExists if a target
  // appeared meanwhile. After an error the temporary folder is still there to be dropped.
  [[nodiscard]] Status Commit();

 private:
  TemporaryFolder() = default;
  std::filesystem::path path_;
  std::filesystem::path target_;
  bool replace_ = false;
};

// A new name beside `target`, "<target>.tmp-<pid>-<n>", for a file that becomes `target` by rename.
// Left-overs of dead processes for the same target are removed first.
[[nodiscard]] std::filesystem::path TemporarySibling(const std::filesystem::path& target);

// Removes all temporary folders of this process and calls `end`, which ends the process and does
// not return. Others may still be writing into the folders: from here on, who makes any folder, or
// commits or drops one, waits for the end, so that no thread reports the files that are gone.
[[noreturn]] void EndWithoutTemporaryFolders(const std::function<void()>& end);

// Creates the folder and its parents.
[[nodiscard]] Status MakeFolder(const std::filesystem::path& path);
// The whole file as text. OutOfRange: it has more than `limit` bytes. Other errors as OpenToRead.
[[nodiscard]] StatusOr<std::string> ReadTextFile(const std::filesystem::path& path,
                                                 int64_t limit = int64_t{256} << 20);
// Writes to a temporary sibling, fsyncs, renames over `path`.
[[nodiscard]] Status WriteFileAtomically(const std::filesystem::path& path, std::string_view text);

// One path component for any name: bytes outside [A-Za-z0-9._-] become %XX, and so does a leading
// dot. "a:b:c" -> "a%3Ab%3Ac".
[[nodiscard]] std::string PercentEncode(std::string_view name);

}  // namespace halograph

// What the state engine needs of the machine: time, threads, files, and space for rows beyond
// memory. All come through these interfaces, so that a simulation can choose which
// thread runs next, lose unsynced writes and fill the disk. `SystemEnv` (system_env.h) is the
// machine itself.
//
// Thread-safe, but for WritableFile: one thread writes; another may sync meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace halograph {

class HelperThreads;

// The end of a wait without deadline.
inline constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

// A lock with one condition. Not recursive.
class Monitor {
 public:
  virtual ~Monitor() = default;
  virtual void Lock() = 0;
  virtual void Unlock() = 0;
  // Requires the lock; holds it again on return. May return without a notification. `until_ns` is
  // of Scheduler::NowNs; never waits past it.
  virtual void Wait(int64_t until_ns) = 0;
  virtual void NotifyAll() = 0;
};

// Holds a monitor from here to the end of the block.
class MonitorLock {
 public:
  explicit MonitorLock(Monitor& monitor) : monitor_(monitor) { monitor_.Lock(); }
  ~MonitorLock() { monitor_.Unlock(); }
  MonitorLock(const MonitorLock&) = delete;
  MonitorLock& operator=(const MonitorLock&) = delete;

 private:
  Monitor& monitor_;
};

// A thread that was started; its destructor waits for its end.
class RunningThread {
 public:
  virtual ~RunningThread() = default;
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Nanoseconds of a clock that never goes back.
  [[nodiscard]] virtual int64_t NowNs() const = 0;
  // Seconds since 1970 of a clock that goes on over restarts, and that somebody may set.
  [[nodiscard]] virtual int64_t WallSeconds() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Monitor> NewMonitor() = 0;
  // Lets other threads that are ready go first.
  virtual void Yield() = 0;
  // `body` must not throw. `name`: at most 15 characters.
  [[nodiscard]] virtual std::unique_ptr<RunningThread> Start(std::string_view name,
                                                             std::function<void()> body) = 0;
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  [[nodiscard]] virtual StatusOr<int64_t> Size() const = 0;
  // Fills `out` from `offset`. DataLoss naming path and offset if the file ends before.
  [[nodiscard]] virtual Status ReadAt(int64_t offset, std::span<std::byte> out) const = 0;
};

// Written bytes survive the end of the process at once; they survive a crash of the machine after
// Sync. A Sync beside a write covers what was written before it began. A failed Sync may have
// dropped any unsynced write: do not try again, give the file up.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // Writes all pieces one after the other from `offset`. After an error any part of them may be
  // there. ResourceExhausted: the disk is full.
  [[nodiscard]] virtual Status WriteAt(int64_t offset,
                                       std::span<const std::span<const std::byte>> pieces) = 0;
  // Data and size.
  [[nodiscard]] virtual Status Sync() = 0;
};

// Held until it is destroyed or the process ends.
class FolderLock {
 public:
  virtual ~FolderLock() = default;
};

// Creating, renaming and removing survive a crash after SyncFolder of the folder (of both for a
// rename). Errors name the path: NotFound, AlreadyExists, ResourceExhausted (disk full),
// PermissionDenied, Internal with errno's words.
class FileSystem {
 public:
  using Path = std::filesystem::path;
  // How a file is written.
  enum class Write : uint8_t {
    kCached,  // by the page cache
    kDirect,  // past it, where the file system can: offsets, sizes and addresses are multiples of
              // 4096
  };

  virtual ~FileSystem() = default;
  [[nodiscard]] virtual StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const Path& path) = 0;
  // A new file of `bytes` zeros whose blocks are allocated. AlreadyExists.
  [[nodiscard]] virtual StatusOr<std::unique_ptr<WritableFile>> Create(const Path& path,
                                                                       int64_t bytes,
                                                                       Write how) = 0;
  // An existing file, as it is.
  [[nodiscard]] virtual StatusOr<std::unique_ptr<WritableFile>> OpenToWrite(const Path& path,
                                                                            Write how) = 0;
  // Replaces `to`.
  [[nodiscard]] virtual Status Rename(const Path& from, const Path& to) = 0;
  [[nodiscard]] virtual Status Remove(const Path& path) = 0;
  // Makes the folder and those above it that are missing.
  [[nodiscard]] virtual Status MakeFolder(const Path& path) = 0;
  [[nodiscard]] virtual Status SyncFolder(const Path& path) = 0;
  // Names of the entries, in byte order.
  [[nodiscard]] virtual StatusOr<std::vector<std::string>> List(const Path& path) = 0;
  // FailedPrecondition naming the folder if another process, or this one, holds it.
  [[nodiscard]] virtual StatusOr<std::unique_ptr<FolderLock>> LockFolder(const Path& path) = 0;
};

// Images of rows that do not fit into memory, by owner and row. Scratch space on a disk: what it
// holds ends with it, and its folder goes. Thread-safe; who reads a row that is being written gets
// the old image or the new one. Errors name the folder: ResourceExhausted (disk full), DataLoss (a
// damaged image), Internal.
class RowSpace {
 public:
  virtual ~RowSpace() = default;
  // A number that no owner of rows has had.
  [[nodiscard]] uint32_t NewOwner() { return next_owner_++; }
  // `images` has that of each of the rows, one after the other, all of one size. Of a row that
  // stands twice the last counts. After an error any of them may be there.
  [[nodiscard]] virtual Status Put(uint32_t owner, std::span<const int64_t> rows,
                                   std::span<const std::byte> images) = 0;
  // Reads the image of rows[i], in any order and repeats allowed, to its place in `images`;
  // (*found)[i] says whether there is one.
  [[nodiscard]] virtual Status Get(uint32_t owner, std::span<const int64_t> rows,
                                   std::span<std::byte> images, std::vector<bool>* found) = 0;
  // Forgets all rows of the owner.
  [[nodiscard]] virtual Status Drop(uint32_t owner) = 0;

 private:
  std::atomic<uint32_t> next_owner_ = 1;
};

class Env {
 public:
  virtual ~Env() = default;
  [[nodiscard]] virtual Scheduler& scheduler() = 0;
  [[nodiscard]] virtual FileSystem& files() = 0;
  // The keys and values of the catalogue that an older build left in `folder`, which stays as it
  // is. DataLoss: it is damaged; Unimplemented: this process cannot read it.
  [[nodiscard]] virtual StatusOr<std::map<std::string, std::string>> ReadOldCatalogue(
      const std::filesystem::path& folder);
  // An empty one in `folder`, which it makes; what was there is removed. It keeps what it read last
  // in `cache_bytes` of memory. One at a time.
  [[nodiscard]] virtual StatusOr<std::unique_ptr<RowSpace>> OpenRowSpace(
      const std::filesystem::path& folder, int64_t cache_bytes) = 0;
  // Removes what a process left in `folder` that ended while it had such a space. Takes no room.
  [[nodiscard]] virtual Status RemoveRowSpace(const std::filesystem::path& /*folder*/) {
    return OkStatus();  // nothing of it is in files
  }
  // Who shares the work of large pushes (helper_threads.h). Null: nobody; so it is in a simulation,
  // where a seed decides which thread runs next.
  [[nodiscard]] virtual HelperThreads* helpers() { return nullptr; }
};

inline StatusOr<std::map<std::string, std::string>> Env::ReadOldCatalogue(
    const std::filesystem::path& folder) {
  return Unimplemented("{}: this build does not read the catalogue of an older one",
                       folder.string());
}

}  // namespace halograph

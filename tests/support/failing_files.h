// Files of the machine that fail or hang when a test says so.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/state/durable/system_files.h"
#include "common/state/env.h"

namespace halograph {

// A function that may be set while other threads call it.
template <typename Result>
class Hook {
 public:
  using Function = std::function<Result(const std::filesystem::path&)>;
  Hook& operator=(Function function) {
    const std::lock_guard lock(mutex_);
    function_ = std::move(function);
    return *this;
  }
  // Empty: none is set.
  [[nodiscard]] Function Get() const {
    const std::lock_guard lock(mutex_);
    return function_;
  }

 private:
  mutable std::mutex mutex_;
  Function function_;
};

// Files of the machine whose writes and syncs fail from a moment on.
class FailingFiles : public FileSystem {
 public:
  struct Switches {
    std::atomic<bool> writes = false;
    std::atomic<bool> syncs = false;
    std::atomic<bool> full = false;  // no file can be made
    std::atomic<int> made = 0;       // files
    std::atomic<int> refused = 0;    // files that could not be made
    std::atomic<int> synced = 0;     // times that a file was
    // After so many calls that change the disk the next one fails so, and others if it says so.
    std::atomic<int> good_calls = std::numeric_limits<int>::max();
    std::atomic<bool> all_later = false;
    std::atomic<bool> no_room = false;  // ENOSPC; else EIO
    // Whether the call before which it is asked fails.
    [[nodiscard]] Status Next(const Path& path) {
      const int left = good_calls--;
      if (left > 0 || (left < 0 && !all_later)) return OkStatus();
      if (no_room) return ResourceExhausted("{}: no space left on device", path.string());
      return Internal("{}: input/output error", path.string());
    }
    Hook<void> before_create;
    Hook<void> before_write;
    Hook<Status> sync_of;  // instead of a sync that works, unless it is OK
    // Each SyncFolder that worked, in their order.
    [[nodiscard]] std::vector<Path> SyncedFolders() const {
      const std::lock_guard lock(mutex_);
      return synced_folders_;
    }
    void NoteSynced(const Path& folder) {
      const std::lock_guard lock(mutex_);
      synced_folders_.push_back(folder);
    }

   private:
    mutable std::mutex mutex_;
    std::vector<Path> synced_folders_;
  };
  explicit FailingFiles(Switches* switches) : switches_(*switches) {}

  [[nodiscard]] StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const Path& path) override {
    return files_->OpenToRead(path);
  }
  [[nodiscard]] StatusOr<std::unique_ptr<WritableFile>> Create(const Path& path, int64_t bytes,
                                                               Write how) override {
    if (const auto hook = switches_.before_create.Get()) hook(path);
    HG_RETURN_IF_ERROR(switches_.Next(path));
    if (switches_.full) {
      ++switches_.refused;
      return ResourceExhausted("{}: the disk is full", path.string());
    }
    ++switches_.made;
    return Wrap(path, files_->Create(path, bytes, how));
  }
  [[nodiscard]] StatusOr<std::unique_ptr<WritableFile>> OpenToWrite(const Path& path,
                                                                    Write how) override {
    return Wrap(path, files_->OpenToWrite(path, how));
  }
  [[nodiscard]] Status Rename(const Path& from, const Path& to) override {
    HG_RETURN_IF_ERROR(switches_.Next(to));
    return files_->Rename(from, to);
  }
  [[nodiscard]] Status Remove(const Path& path) override { return files_->Remove(path); }
  [[nodiscard]] Status MakeFolder(const Path& path) override {
    HG_RETURN_IF_ERROR(switches_.Next(path));
    return files_->MakeFolder(path);
  }
  [[nodiscard]] Status SyncFolder(const Path& path) override {
    HG_RETURN_IF_ERROR(switches_.Next(path));
    HG_RETURN_IF_ERROR(files_->SyncFolder(path));
    switches_.NoteSynced(path);
    return OkStatus();
  }
  [[nodiscard]] StatusOr<std::vector<std::string>> List(const Path& path) override {
    return files_->List(path);
  }
  [[nodiscard]] StatusOr<std::unique_ptr<FolderLock>> LockFolder(const Path& path) override {
    return files_->LockFolder(path);
  }

 private:
  class File : public WritableFile {
   public:
    File(std::unique_ptr<WritableFile> file, Path path, Switches* switches)
        : file_(std::move(file)), path_(std::move(path)), switches_(*switches) {}
    [[nodiscard]] Status WriteAt(int64_t offset,
                                 std::span<const std::span<const std::byte>> pieces) override {
      if (const auto hook = switches_.before_write.Get()) hook(path_);
      HG_RETURN_IF_ERROR(switches_.Next(path_));
      if (switches_.writes) return Internal("the disk is broken");
      return file_->WriteAt(offset, pieces);
    }
    [[nodiscard]] Status Sync() override {
      HG_RETURN_IF_ERROR(switches_.Next(path_));
      if (switches_.syncs) return Internal("the flush is broken");
      if (const auto hook = switches_.sync_of.Get()) HG_RETURN_IF_ERROR(hook(path_));
      HG_RETURN_IF_ERROR(file_->Sync());
      ++switches_.synced;
      return OkStatus();
    }

   private:
    std::unique_ptr<WritableFile> file_;
    Path path_;
    Switches& switches_;
  };

  StatusOr<std::unique_ptr<WritableFile>> Wrap(const Path& path,
                                               StatusOr<std::unique_ptr<WritableFile>> file) {
    if (!file.ok()) return file;
    return std::make_unique<File>(*std::move(file), path, &switches_);
  }

  const std::unique_ptr<FileSystem> files_ = MakeSystemFiles();
  Switches& switches_;
};

// A disk that hangs: calls of it wait from Close on until Open.
class Gate {
 public:
  void Close() { closed_ = true; }
  void Open() {
    closed_ = false;
    closed_.notify_all();
  }
  void Pass() {
    if (!closed_) return;
    reached_ = true;
    reached_.notify_all();
    closed_.wait(true);
  }
  void AwaitReached() const { reached_.wait(false); }

 private:
  std::atomic<bool> closed_ = false;
  std::atomic<bool> reached_ = false;
};

}  // namespace halograph

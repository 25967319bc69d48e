// The catalogue of a state: keys with small JSON values, in one file that is written whole
// (STATE.md). Each write makes the next generation under a temporary name, syncs it, and then gives
// it the file's name: a crash leaves one generation or the next, and a disk that is full changes
// nothing. Beside it a file of zeros keeps room for changes that give back more, so that a full
// disk lets them be made. One thread writes at a time; others may read meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/state/env.h"

namespace halograph {

class CatalogueFile {
 public:
  // Keys in byte order; each value is canonical JSON.
  using Values = std::map<std::string, std::string, std::less<>>;
  struct Change {
    std::string key;
    std::optional<std::string> value;  // null: the key is removed
  };
  struct Entry {
    std::string key;
    std::string value;
  };

  // What the file at `path` holds. NotFound: there is none; DataLoss naming the file, and what is
  // wrong with it; FailedPrecondition: it is of a newer format; errors of FileSystem. `env`
  // outlives it.
  [[nodiscard]] static StatusOr<std::unique_ptr<CatalogueFile>> Read(
      const std::filesystem::path& path, Env& env);
  // Writes generation 1. Errors of Write.
  [[nodiscard]] static StatusOr<std::unique_ptr<CatalogueFile>> Make(
      const std::filesystem::path& path, Values values, Env& env);

  enum class Room {
    kFree,      // of the disk
    kReserved,  // if none is free, that of the file of zeros
  };
  // All changes at once, in their order; they survive a crash of the machine on return.
  //   ResourceExhausted  the disk is full: the bytes that are needed. Nothing has changed
  //   else               which generation counts is known at the next start only; from now on every
  //                      Write is refused
  [[nodiscard]] Status Write(std::span<const Change> changes, Room room = Room::kFree);

  // Why every Write is refused; OK: it is not.
  [[nodiscard]] Status failure() const;
  // Makes the file of zeros, for a catalogue twice as long. Where there is no room for it, the one
  // that is there stays, and the next Write tries again.
  void Reserve();

  // Null: no such key.
  [[nodiscard]] std::optional<std::string> Get(std::string_view key) const;
  // Entries whose key begins with `prefix`, in byte order.
  [[nodiscard]] std::vector<Entry> Scan(std::string_view prefix) const;

  // Of the last write; from 1 upward. Files that are written later say which one they saw.
  [[nodiscard]] int64_t generation() const;

 private:
  CatalogueFile(std::filesystem::path path, Env& env);
  [[nodiscard]] Status WriteFile(const Values& values, int64_t generation);

  const std::filesystem::path path_;
  const std::filesystem::path reserve_;  // the file of zeros
  FileSystem& files_;
  int64_t reserved_bytes_ = 0;  // by this process; these are of the thread that writes
  int64_t file_bytes_ = 0;
  const std::unique_ptr<Monitor> monitor_;  // of all below; who holds it waits for no disk
  Values values_;
  int64_t generation_ = 0;
  Status failed_;
};

}  // namespace halograph

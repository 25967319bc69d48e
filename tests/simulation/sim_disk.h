// The disk of a simulated machine: for each file what processes see, what would be left after a
// crash of the machine, and the writes between the two. A plain value without a clock: a copy is a
// copy of the disk. Not thread-safe.
//
//   Kill        the end of the process alone: the page cache is kept, so nothing is lost
//   PowerLoss   the end of the machine: of the writes since a file's last Sync a random part is
//   kept,
//               torn at 512 bytes or 4 KiB; of the names made, changed and removed since the last
//               SyncFolder of their folder likewise
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/simulation/sim_random.h"

namespace halograph::sim {

class SimDisk {
 public:
  using Bytes = std::vector<std::byte>;

  // All paths are absolute and normal. Errors are those of FileSystem.
  [[nodiscard]] StatusOr<int> Create(const std::string& path, int64_t bytes);
  [[nodiscard]] StatusOr<int> Open(const std::string& path) const;
  [[nodiscard]] Status Rename(const std::string& from, const std::string& to);
  [[nodiscard]] Status Remove(const std::string& path);
  [[nodiscard]] Status MakeFolder(const std::string& path);
  [[nodiscard]] Status SyncFolder(const std::string& path);
  [[nodiscard]] StatusOr<std::vector<std::string>> List(const std::string& path) const;
  // Makes the folder and those above it, for good.
  void MakeDurableFolder(const std::string& path);

  // Of an open file.
  [[nodiscard]] int64_t Size(int file) const;
  [[nodiscard]] bool Read(int file, int64_t offset, std::span<std::byte> out) const;
  // ResourceExhausted if the file would have to grow beyond what is free: nothing is written.
  [[nodiscard]] Status Write(int file, int64_t offset, std::span<const std::byte> bytes);
  // A Sync takes time: what was written before its beginning is durable at its end.
  [[nodiscard]] int64_t BeginSync(int file) const;
  void EndSync(int file, int64_t begun);
  // A failed one: a random part is durable, and no later Sync writes the rest. Processes may see
  // the old bytes again at once, or the new ones until the machine crashes.
  void FailSync(int file, Random& random);

  void PowerLoss(Random& random);

  // Full at so many bytes of files.
  static constexpr int64_t kPlenty = int64_t{1} << 40;
  void SetCapacity(int64_t bytes) {
    if (!capacity_fixed_) capacity_ = bytes;
  }
  // Of this disk, and its copies, for good.
  void FixCapacity(int64_t bytes) {
    capacity_ = bytes;
    capacity_fixed_ = true;
  }
  [[nodiscard]] int64_t capacity() const { return capacity_; }
  [[nodiscard]] int64_t used_bytes() const;
  [[nodiscard]] int64_t free_bytes() const {
    return std::max<int64_t>(0, capacity_ - used_bytes());
  }

  // Damage: flips one bit of a file, durably.
  void FlipBit(const std::string& path, int64_t bit);
  // Prefers bytes that are not zero. False: the file is empty.
  bool FlipSomeBit(const std::string& path, Random& random);
  // Paths of all files.
  [[nodiscard]] std::vector<std::string> Files() const;

 private:
  struct Entry {
    bool folder = false;
    int file = -1;
  };
  struct Change {  // of a file since its last sync
    int64_t number = 0;
    int64_t offset = 0;
    Bytes bytes = {};
    int64_t size = -1;  // >= 0: the file gets this size, and nothing is written
  };
  struct File {
    Bytes now;
    Bytes durable;
    std::deque<Change> changes;
    int64_t next_number = 0;
  };
  struct NameChange {
    std::string path;
    std::optional<Entry> entry;  // null: removed
    int64_t group = 0;           // those of one operation come together
  };

  void SetName(const std::string& path, std::optional<Entry> entry, int64_t group);
  static void Apply(const Change& change, Bytes& bytes);
  static void ApplyTorn(const Change& change, double kept, Random& random, Bytes& bytes);
  static std::string FolderOf(const std::string& path);

  std::map<std::string, Entry> names_;
  std::map<std::string, Entry> durable_names_;
  std::deque<NameChange> name_changes_;
  int64_t next_group_ = 0;
  std::vector<File> files_;
  int64_t capacity_ = kPlenty;
  bool capacity_fixed_ = false;
};

}  // namespace halograph::sim

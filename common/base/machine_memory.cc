#include "common/base/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <unistd.h>

namespace halograph {
namespace {

using std::filesystem::path;

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

path OfGroup(const path& root, std::string_view name) { return root / "sys/fs/cgroup" / name; }

// The number in a file that holds one; nullopt for "max" or no such file.
std::optional<int64_t> NumberIn(const path& file) {
  int64_t value = 0;
  std::ifstream in(file);
  if (in >> value) return value;
  return std::nullopt;
}

// The number behind a word that begins a line.
std::optional<int64_t> NumberBehind(const path& file, std::string_view word) {
  std::ifstream in(file);
  int64_t value = 0;
  for (std::string first; in >> first; in.ignore(kUnknown, '\n')) {
    if (first == word && in >> value) return value;
  }
  return std::nullopt;
}

int64_t InMachine(const path& root, std::string_view word) {
  const auto kib = NumberBehind(root / "proc/meminfo", word);
  return kib ? *kib * 1024 : kUnknown;
}

int64_t FreeInGroup(const path& root) {
  const auto limit = NumberIn(OfGroup(root, "memory.max"));
  const auto used = NumberIn(OfGroup(root, "memory.current"));
  if (!limit || !used) return kUnknown;
  int64_t files = 0;
  for (const std::string_view word : {"inactive_file", "active_file"}) {
    files += NumberBehind(OfGroup(root, "memory.stat"), word).value_or(0);
  }
  return std::clamp<int64_t>(*limit - *used + files, 0, *limit);
}

}  // namespace

int64_t MachineMemory(const path& root) {
  const int64_t known = InMachine(root, "MemTotal:");
  const int64_t machine =
      known != kUnknown ? known : int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  return std::min(machine, NumberIn(OfGroup(root, "memory.max")).value_or(kUnknown));
}

int64_t FreeMemory(const path& root) {
  return std::min({InMachine(root, "MemAvailable:"), FreeInGroup(root), MachineMemory(root)});
}

}  // namespace halograph

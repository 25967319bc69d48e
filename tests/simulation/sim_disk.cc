#include "tests/simulation/sim_disk.h"

#include <algorithm>
#include <set>

namespace halograph::sim {

std::string SimDisk::FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

void SimDisk::SetName(const std::string& path, std::optional<Entry> entry, int64_t group) {
  if (entry.has_value()) {
    names_[path] = *entry;
  } else {
    names_.erase(path);
  }
  name_changes_.push_back({path, entry, group});
}

StatusOr<int> SimDisk::Create(const std::string& path, int64_t bytes) {
  if (names_.contains(path)) return AlreadyExists("cannot create {}: it exists", path);
  const std::string folder = FolderOf(path);
  if (folder != "/" && !names_.contains(folder)) {
    return NotFound("cannot create {}: no folder {}", path, folder);
  }
  if (bytes > free_bytes()) return ResourceExhausted("cannot create {}: the disk is full", path);
  const int file = static_cast<int>(files_.size());
  File& made = files_.emplace_back();
  made.now.resize(static_cast<size_t>(bytes));
  made.changes.push_back({.number = made.next_number++, .size = bytes});
  SetName(path, Entry{.file = file}, next_group_++);
  return file;
}

StatusOr<int> SimDisk::Open(const std::string& path) const {
  const auto found = names_.find(path);
  if (found == names_.end()) return NotFound("cannot open {}: no such file", path);
  if (found->second.folder) return FailedPrecondition("cannot open {}: it is a folder", path);
  return found->second.file;
}

Status SimDisk::Rename(const std::string& from, const std::string& to) {
  const auto found = names_.find(from);
  if (found == names_.end()) return NotFound("cannot rename {}: no such file", from);
  if (found->second.folder) return Unimplemented("cannot rename {}: it is a folder", from);
  const Entry entry = found->second;
  SetName(to, entry, next_group_);
  SetName(from, std::nullopt, next_group_++);
  return OkStatus();
}

Status SimDisk::Remove(const std::string& path) {
  if (!names_.contains(path)) return NotFound("cannot remove {}: no such file", path);
  SetName(path, std::nullopt, next_group_++);
  return OkStatus();
}

Status SimDisk::MakeFolder(const std::string& path) {
  if (path == "/") return OkStatus();
  if (const auto found = names_.find(path); found != names_.end()) {
    if (found->second.folder) return OkStatus();
    return AlreadyExists("cannot make folder {}: it is a file", path);
  }
  HG_RETURN_IF_ERROR(MakeFolder(FolderOf(path)));
  SetName(path, Entry{.folder = true}, next_group_++);
  return OkStatus();
}

void SimDisk::MakeDurableFolder(const std::string& path) {
  if (path == "/") return;
  MakeDurableFolder(FolderOf(path));
  names_[path] = durable_names_[path] = Entry{.folder = true};
  std::erase_if(name_changes_, [&](const NameChange& change) { return change.path == path; });
}

Status SimDisk::SyncFolder(const std::string& path) {
  if (path != "/" && !names_.contains(path)) return NotFound("cannot sync {}: no folder", path);
  std::set<int64_t> groups;
  for (const NameChange& change : name_changes_) {
    if (FolderOf(change.path) == path) groups.insert(change.group);
  }
  for (const NameChange& change : name_changes_) {
    if (!groups.contains(change.group)) continue;
    if (change.entry.has_value()) {
      durable_names_[change.path] = *change.entry;
    } else {
      durable_names_.erase(change.path);
    }
  }
  std::erase_if(name_changes_,
                [&](const NameChange& change) { return groups.contains(change.group); });
  return OkStatus();
}

StatusOr<std::vector<std::string>> SimDisk::List(const std::string& path) const {
  const auto found = names_.find(path);
  if (path != "/" && (found == names_.end() || !found->second.folder)) {
    return NotFound("cannot list {}: no folder", path);
  }
  std::vector<std::string> names;
  for (const auto& [name, entry] : names_) {
    if (FolderOf(name) == path) names.push_back(name.substr(path == "/" ? 1 : path.size() + 1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

int64_t SimDisk::Size(int file) const {
  return static_cast<int64_t>(files_[static_cast<size_t>(file)].now.size());
}

bool SimDisk::Read(int file, int64_t offset, std::span<std::byte> out) const {
  const Bytes& now = files_[static_cast<size_t>(file)].now;
  if (offset < 0 || static_cast<size_t>(offset) + out.size() > now.size()) return false;
  std::copy_n(now.begin() + offset, out.size(), out.begin());
  return true;
}

void SimDisk::Apply(const Change& change, Bytes& bytes) {
  if (change.size >= 0) {
    bytes.resize(static_cast<size_t>(change.size));
    return;
  }
  const size_t end = static_cast<size_t>(change.offset) + change.bytes.size();
  if (bytes.size() < end) bytes.resize(end);
  std::copy(change.bytes.begin(), change.bytes.end(), bytes.begin() + change.offset);
}

Status SimDisk::Write(int file, int64_t offset, std::span<const std::byte> bytes) {
  File& written = files_[static_cast<size_t>(file)];
  const int64_t end = offset + static_cast<int64_t>(bytes.size());
  if (end - static_cast<int64_t>(written.now.size()) > free_bytes()) {
    return ResourceExhausted("cannot write: the disk is full");
  }
  written.changes.push_back({.number = written.next_number++,
                             .offset = offset,
                             .bytes = Bytes(bytes.begin(), bytes.end())});
  Apply(written.changes.back(), written.now);
  return OkStatus();
}

int64_t SimDisk::BeginSync(int file) const { return files_[static_cast<size_t>(file)].next_number; }

void SimDisk::EndSync(int file, int64_t begun) {
  File& synced = files_[static_cast<size_t>(file)];
  while (!synced.changes.empty() && synced.changes.front().number < begun) {
    Apply(synced.changes.front(), synced.durable);
    synced.changes.pop_front();
  }
}

void SimDisk::ApplyTorn(const Change& change, double kept, Random& random, Bytes& bytes) {
  if (change.size >= 0) {
    if (random.Chance(kept)) Apply(change, bytes);
    return;
  }
  const int64_t unit = random.Chance(0.5) ? 512 : 4096;
  const int64_t end = change.offset + static_cast<int64_t>(change.bytes.size());
  for (int64_t from = change.offset; from < end;) {
    const int64_t to = std::min(end, (from / unit + 1) * unit);
    if (random.Chance(kept)) {
      const auto begin = change.bytes.begin();
      Apply({.offset = from,
             .bytes = Bytes(begin + (from - change.offset), begin + (to - change.offset))},
            bytes);
    }
    from = to;
  }
}

void SimDisk::FailSync(int file, Random& random) {
  File& failed = files_[static_cast<size_t>(file)];
  for (const Change& change : failed.changes) ApplyTorn(change, 0.5, random, failed.durable);
  failed.changes.clear();
  if (random.Chance(0.5)) {
    const size_t size = failed.now.size();
    failed.now = failed.durable;
    failed.now.resize(size);
  }
}

void SimDisk::PowerLoss(Random& random) {
  // Mostly lost, mostly kept, or in between: each finds other mistakes.
  constexpr double kKept[] = {0.0, 0.1, 0.5, 0.9, 1.0};
  for (File& file : files_) {
    const double kept = kKept[random.Below(5)];
    for (const Change& change : file.changes) {
      ApplyTorn(change, random.Chance(0.2) ? 1 - kept : kept, random, file.durable);
    }
    file.changes.clear();
    file.now = file.durable;
  }
  const double kept = kKept[random.Below(5)];
  for (size_t i = 0; i < name_changes_.size();) {
    const bool keep = random.Chance(kept);
    const int64_t group = name_changes_[i].group;
    for (; i < name_changes_.size() && name_changes_[i].group == group; ++i) {
      if (!keep) continue;
      const NameChange& change = name_changes_[i];
      if (change.entry.has_value()) {
        durable_names_[change.path] = *change.entry;
      } else {
        durable_names_.erase(change.path);
      }
    }
  }
  name_changes_.clear();
  // What lies in a folder that was lost is lost with it.
  for (auto it = durable_names_.begin(); it != durable_names_.end();) {
    const std::string folder = FolderOf(it->first);
    const bool lost = folder != "/" && !durable_names_.contains(folder);
    it = lost ? durable_names_.erase(it) : std::next(it);
  }
  names_ = durable_names_;
}

int64_t SimDisk::used_bytes() const {
  int64_t bytes = 0;
  for (const auto& [path, entry] : names_) {
    if (!entry.folder) bytes += Size(entry.file);
  }
  return bytes;
}

void SimDisk::FlipBit(const std::string& path, int64_t bit) {
  File& file = files_[static_cast<size_t>(names_.at(path).file)];
  const auto mask = static_cast<std::byte>(1U << (bit % 8));
  const auto at = static_cast<size_t>(bit / 8);
  file.now.at(at) ^= mask;
  if (at < file.durable.size()) file.durable[at] ^= mask;
}

bool SimDisk::FlipSomeBit(const std::string& path, Random& random) {
  const Bytes& bytes = files_[static_cast<size_t>(names_.at(path).file)].now;
  if (bytes.empty()) return false;
  size_t at = random.Below(bytes.size());
  for (int tries = 0; tries < 1000 && bytes[at] == std::byte{0}; ++tries) {
    at = random.Below(bytes.size());
  }
  FlipBit(path, static_cast<int64_t>(at * 8 + random.Below(8)));
  return true;
}

std::vector<std::string> SimDisk::Files() const {
  std::vector<std::string> paths;
  for (const auto& [path, entry] : names_) {
    if (!entry.folder) paths.push_back(path);
  }
  return paths;
}

}  // namespace halograph::sim

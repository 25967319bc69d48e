#include "common/state/engine/catalogue/catalogue_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/checksum.h"
#include "common/storage/json.h"

namespace halograph {
namespace {

constexpr uint64_t kMagic = 0x3154414347414c48;  // "HLAGCAT1"
constexpr uint32_t kVersion = 1;
constexpr int64_t kLeastReserve = 16 << 10;

struct StoredHeader {
  uint64_t checksum;  // XXH3-64 of all that follows, the body included
  uint64_t magic;
  uint32_t version;
  uint32_t zero;
  int64_t generation;
  int64_t bytes;  // of the body
};
static_assert(sizeof(StoredHeader) == 40);

// One object with a line a key: what a person reads behind the header.
std::string BodyOf(const CatalogueFile::Values& values) {
  std::string body = "{";
  for (const auto& [key, value] : values) {
    body += body.size() == 1 ? "\n" : ",\n";
    body += CanonicalJson(Json(key)) + ":" + value;
  }
  return body + "\n}\n";
}

std::string FileOf(const CatalogueFile::Values& values, int64_t generation) {
  const std::string body = BodyOf(values);
  StoredHeader header = {0, kMagic, kVersion, 0, generation, static_cast<int64_t>(body.size())};
  std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
  file += body;
  const auto bytes = std::as_bytes(std::span(file)).subspan(sizeof(header.checksum));
  header.checksum = Checksum64(bytes);
  return file.replace(0, sizeof(header.checksum), reinterpret_cast<const char*>(&header.checksum),
                      sizeof(header.checksum));
}

Status Damaged(const std::filesystem::path& path, std::string_view what) {
  return DataLoss("{}: {}: restore a copy of the whole state folder", path.string(), what);
}

StatusOr<CatalogueFile::Values> ValuesIn(std::string_view body, const std::string& where) {
  HG_ASSIGN_OR_RETURN(const Json object, ParseJson(body, where));
  if (!object.is_object()) return DataLoss("{}: no object", where);
  CatalogueFile::Values values;
  for (const auto& [key, value] : object.items()) values[key] = CanonicalJson(value);
  return values;
}

}  // namespace

CatalogueFile::CatalogueFile(std::filesystem::path path, Env& env)
    : path_(std::move(path)),
      reserve_(path_.string() + ".reserve"),
      files_(env.files()),
      monitor_(env.scheduler().NewMonitor()) {}

StatusOr<std::unique_ptr<CatalogueFile>> CatalogueFile::Read(const std::filesystem::path& path,
                                                             Env& env) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, env.files().OpenToRead(path));
  HG_ASSIGN_OR_RETURN(const int64_t size, file->Size());
  StoredHeader header;
  if (size < static_cast<int64_t>(sizeof(header))) return Damaged(path, "ends within its header");
  std::string bytes(static_cast<size_t>(size), '\0');
  HG_RETURN_IF_ERROR(file->ReadAt(0, std::as_writable_bytes(std::span(bytes))));
  bytes.copy(reinterpret_cast<char*>(&header), sizeof(header));
  if (header.magic != kMagic) return Damaged(path, "is no catalogue");
  const auto summed = std::as_bytes(std::span(bytes)).subspan(sizeof(header.checksum));
  if (Checksum64(summed) != header.checksum) return Damaged(path, "does not fit its checksum");
  if (header.version > kVersion) {
    return FailedPrecondition(
        "{}: format {} of the catalogue, this build reads {}: use a newer build", path.string(),
        header.version, kVersion);
  }
  std::unique_ptr<CatalogueFile> catalogue(new CatalogueFile(path, env));
  const auto values = ValuesIn(std::string_view(bytes).substr(sizeof(header)), path.string());
  if (!values.ok()) return Damaged(path, Message(values.status()));
  catalogue->values_ = *values;
  catalogue->generation_ = header.generation;
  catalogue->file_bytes_ = size;
  return catalogue;
}

StatusOr<std::unique_ptr<CatalogueFile>> CatalogueFile::Make(const std::filesystem::path& path,
                                                             Values values, Env& env) {
  std::unique_ptr<CatalogueFile> catalogue(new CatalogueFile(path, env));
  HG_RETURN_IF_ERROR(catalogue->WriteFile(values, 1));
  catalogue->values_ = std::move(values);
  catalogue->generation_ = 1;
  return catalogue;
}

Status CatalogueFile::Write(std::span<const Change> changes, Room room) {
  HG_RETURN_IF_ERROR(failure());
  Values values = values_;  // which nobody else changes
  for (const Change& change : changes) {
    if (change.value.has_value()) {
      values[change.key] = *change.value;
    } else {
      values.erase(change.key);
    }
  }
  Status written = WriteFile(values, generation_ + 1);
  if (absl::IsResourceExhausted(written) && room == Room::kReserved) {
    static_cast<void>(files_.Remove(reserve_).ok());
    reserved_bytes_ = 0;
    written = WriteFile(values, generation_ + 1);
  }
  Reserve();
  const MonitorLock lock(*monitor_);
  if (!written.ok() && !absl::IsResourceExhausted(written)) failed_ = written;
  HG_RETURN_IF_ERROR(written);
  values_ = std::move(values);
  ++generation_;
  return OkStatus();
}

// Until the new file has its name, the old one is the catalogue, and a full disk has changed
// nothing.
Status CatalogueFile::WriteFile(const Values& values, int64_t generation) {
  const std::string bytes = FileOf(values, generation);
  const std::filesystem::path temporary = path_.string() + ".tmp";
  bool named = false;
  const auto write = [&]() -> Status {
    if (const Status removed = files_.Remove(temporary); !absl::IsNotFound(removed)) {
      HG_RETURN_IF_ERROR(removed);
    }
    HG_ASSIGN_OR_RETURN(
        const std::unique_ptr<WritableFile> file,
        files_.Create(temporary, static_cast<int64_t>(bytes.size()), FileSystem::Write::kCached));
    const std::span<const std::byte> piece = std::as_bytes(std::span(bytes));
    HG_RETURN_IF_ERROR(file->WriteAt(0, std::span(&piece, 1)));
    HG_RETURN_IF_ERROR(file->Sync());
    HG_RETURN_IF_ERROR(files_.Rename(temporary, path_));
    named = true;
    return files_.SyncFolder(path_.parent_path());
  };
  const Status written = write();
  if (!named && absl::IsResourceExhausted(written)) {
    static_cast<void>(files_.Remove(temporary).ok());
    return ResourceExhausted("{}; {} bytes are needed in {} to write the catalogue",
                             Message(written), bytes.size(), path_.parent_path().string());
  }
  if (written.ok()) {
    file_bytes_ = static_cast<int64_t>(bytes.size());
    return OkStatus();
  }
  // Even if the disk is full: the new file may be the catalogue by now.
  return Internal("a write of the catalogue failed, and may count: {}", Message(written));
}

// One that a process before made may be a copy, without blocks on the disk.
void CatalogueFile::Reserve() {
  if (reserved_bytes_ >= file_bytes_ + kLeastReserve / 2) return;
  const int64_t bytes = std::max(2 * file_bytes_, kLeastReserve);
  const std::filesystem::path temporary = reserve_.string() + ".tmp";
  static_cast<void>(files_.Remove(temporary).ok());
  Status made = files_.Create(temporary, bytes, FileSystem::Write::kCached).status();
  if (made.ok()) made = files_.Rename(temporary, reserve_);
  if (made.ok()) reserved_bytes_ = bytes;
}

Status CatalogueFile::failure() const {
  const MonitorLock lock(*monitor_);
  return failed_;
}

std::optional<std::string> CatalogueFile::Get(std::string_view key) const {
  const MonitorLock lock(*monitor_);
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::vector<CatalogueFile::Entry> CatalogueFile::Scan(std::string_view prefix) const {
  const MonitorLock lock(*monitor_);
  std::vector<Entry> entries;
  for (auto at = values_.lower_bound(prefix); at != values_.end() && at->first.starts_with(prefix);
       ++at) {
    entries.push_back({at->first, at->second});
  }
  return entries;
}

int64_t CatalogueFile::generation() const {
  const MonitorLock lock(*monitor_);
  return generation_;
}

}  // namespace halograph

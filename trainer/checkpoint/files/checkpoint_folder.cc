#include "trainer/checkpoint/files/checkpoint_folder.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/storage/disk_space.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNamePrefix = "step-";
constexpr size_t kNameDigits = 9;

// The steps of a checkpoint's name; nullopt for other names.
std::optional<int64_t> StepsOfName(std::string_view name) {
  if (!name.starts_with(kNamePrefix)) return std::nullopt;
  name.remove_prefix(kNamePrefix.size());
  if (name.size() < kNameDigits) return std::nullopt;
  int64_t steps = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), steps);
  if (error != std::errc() || end != name.data() + name.size() || steps < 0) return std::nullopt;
  return steps;
}

// What TemporaryFolder puts behind a checkpoint's name while it is written, and behind that of the
// one whose place it takes.
constexpr std::string_view kUnfinishedMark = ".tmp-";
constexpr std::string_view kReplacedMark = ".old-";

bool IsUnfinished(std::string_view name) {
  return name.starts_with(kNamePrefix) && (name.find(kUnfinishedMark) != std::string_view::npos ||
                                           name.find(kReplacedMark) != std::string_view::npos);
}

// The steps of a checkpoint whose place another one was to take.
std::optional<int64_t> StepsOfReplaced(std::string_view name) {
  const size_t mark = name.find(kReplacedMark);
  if (mark == std::string_view::npos) return std::nullopt;
  return StepsOfName(name.substr(0, mark));
}

void RemoveOrWarn(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) spdlog::warn("cannot remove {}: {}", path.string(), error.message());
}

// A writer was killed before the new checkpoint had the old one's name: the old one gets it back.
Status PutBackReplaced(const fs::path& dir) {
  HG_ASSIGN_OR_RETURN(const auto there, ListCheckpoints(dir));
  for (const auto& [steps, path] : there) {
    if (StepsOfName(path.filename().string()).has_value()) continue;
    std::error_code error;
    fs::rename(path, dir / CheckpointName(steps), error);
    if (error) return ErrnoStatus(error.value(), "cannot give back its name to", path.string());
  }
  return OkStatus();
}

void RemoveUnfinished(const fs::path& dir) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(dir, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (IsUnfinished(entry->path().filename().string())) found.push_back(entry->path());
  }
  for (const fs::path& path : found) RemoveOrWarn(path);
}

Status CheckFinite(const TensorBytes& tensor) {
  if (tensor.dtype != DType::kFloat32) return OkStatus();
  for (size_t at = 0; at < tensor.data.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, tensor.data.data() + at, sizeof(value));
    if (std::isfinite(value)) continue;
    return FailedPrecondition("'{}' has the value {} at element {}: nobody can go on from it",
                              tensor.name, value, at / sizeof(float));
  }
  return OkStatus();
}

int64_t BytesOf(const CheckpointImage& image) {
  constexpr int64_t kManifestRoom = int64_t{1} << 20;
  int64_t bytes = kManifestRoom;
  for (const auto& [name, tensors] : image.files) {
    for (const TensorBytes& tensor : tensors) bytes += std::ssize(tensor.data);
  }
  return bytes;
}

}  // namespace

StatusOr<const SafetensorsFile*> StoredCheckpoint::Find(std::string_view file) const {
  const auto found = files.find(std::string(file));
  if (found != files.end()) return &found->second;
  std::string names;
  for (const auto& [name, other] : files) names += (names.empty() ? "" : ", ") + name;
  return NotFound("{}: has no {}; it has {}", folder.string(), file, names);
}

std::string CheckpointName(int64_t steps_done) {
  return fmt::format("{}{:0{}}", kNamePrefix, steps_done, kNameDigits);
}

StatusOr<std::map<int64_t, fs::path>> ListCheckpoints(const fs::path& dir) {
  std::map<int64_t, fs::path> found, replaced;
  std::error_code error;
  fs::directory_iterator entry(dir, error);
  if (error == std::errc::no_such_file_or_directory) return found;
  if (error == std::errc::not_a_directory) {
    return FailedPrecondition("--checkpoint {}: is no folder; name another one", dir.string());
  }
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (const auto steps = StepsOfName(name)) found.emplace(*steps, entry->path());
    if (const auto steps = StepsOfReplaced(name)) replaced.emplace(*steps, entry->path());
  }
  if (error) return ErrnoStatus(error.value(), "cannot list", dir.string());
  found.merge(replaced);  // those in whose place there is none
  return found;
}

Status CheckIsNoCheckpoint(const fs::path& dir) {
  fs::path path = dir.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::error_code ignored;
  if (!fs::exists(path / kManifestFile, ignored)) return OkStatus();
  const bool named = StepsOfName(path.filename().string()).has_value();
  if (!named && !ReadCheckpointManifest(path).ok()) return OkStatus();
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return FailedPrecondition(
      "--checkpoint {}: is a checkpoint itself; give the folder that it is in, {}: the newest one "
      "there is what --resume goes on from",
      dir.string(), parent.string());
}

StatusOr<CheckpointManifest> ReadCheckpointManifest(const fs::path& folder) {
  const fs::path path = folder / kManifestFile;
  HG_ASSIGN_OR_RETURN(const Json json, ReadManifest(path));
  return ManifestFromJson(json, path.string());
}

StatusOr<StoredCheckpoint> ReadStoredCheckpoint(const fs::path& folder) {
  StoredCheckpoint checkpoint;
  checkpoint.folder = folder;
  HG_ASSIGN_OR_RETURN(checkpoint.manifest, ReadCheckpointManifest(folder));
  for (const FileEntry& entry : checkpoint.manifest.files) {
    HG_RETURN_IF_ERROR(VerifyFile(folder, entry));
    HG_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(folder / entry.path));
    checkpoint.files.emplace(entry.path, std::move(file));
  }
  return checkpoint;
}

bool IsDamage(const Status& status) { return absl::IsNotFound(status) || absl::IsDataLoss(status); }

StatusOr<StoredCheckpoint> ReadNewestCheckpoint(const fs::path& dir, const CheckpointNeeds& needs,
                                                OnDamaged on_damaged) {
  std::error_code ignored;
  if (fs::exists(dir / kManifestFile, ignored)) {
    HG_ASSIGN_OR_RETURN(StoredCheckpoint checkpoint, ReadStoredCheckpoint(dir));
    if (needs) HG_RETURN_IF_ERROR(needs(checkpoint));
    return checkpoint;
  }
  HG_ASSIGN_OR_RETURN(const auto found, ListCheckpoints(dir));
  if (found.empty()) {
    return NotFound(
        "{}: {}; give the folder that a run was given as --checkpoint, or one of the folders {}N "
        "in it",
        dir.string(), fs::exists(dir, ignored) ? "has no checkpoint" : "there is no such folder",
        kNamePrefix);
  }
  Status newest = OkStatus();
  for (auto entry = found.rbegin(); entry != found.rend(); ++entry) {
    auto read = ReadStoredCheckpoint(entry->second);
    const bool damaged = !read.ok();
    const Status status = damaged ? read.status() : needs ? needs(*read) : OkStatus();
    if (status.ok()) return read;
    if (!IsDamage(status)) return status;
    if (newest.ok()) newest = status;
    if (on_damaged == OnDamaged::kPassOver) continue;
    const bool last = std::next(entry) == found.rend();
    const std::string path = entry->second.string();
    spdlog::warn("{}: {}; {}",
                 damaged ? fmt::format("checkpoint {} is damaged", path)
                         : fmt::format("cannot resume from checkpoint {}", path),
                 Message(status), last ? "there is no earlier one" : "using the previous one");
  }
  return NotFound(
      "{}: none of {} checkpoints is whole; of the newest: {}. Put back what is missing or damaged "
      "from a copy, or name another folder to begin anew",
      dir.string(), found.size(), Message(newest));
}

StatusOr<CheckpointFolder> CheckpointFolder::Open(const fs::path& dir, int keep) {
  HG_RETURN_IF_ERROR(CheckIsNoCheckpoint(dir));
  HG_RETURN_IF_ERROR(MakeFolder(dir));
  CheckpointFolder folder;
  folder.dir_ = dir;
  folder.keep_ = keep;
  folder.lock_fd_ = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder.lock_fd_ < 0) return ErrnoStatus(errno, "cannot open folder", dir.string());
  // File systems that lock no folders say otherwise than EWOULDBLOCK; nothing more can be done
  // there.
  if (::flock(folder.lock_fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return FailedPrecondition(
        "{}: another run writes its checkpoints here; name another folder, or wait for its end",
        dir.string());
  }
  // Nobody else writes here: the lock is held.
  HG_RETURN_IF_ERROR(PutBackReplaced(dir));
  RemoveUnfinished(dir);
  return folder;
}

CheckpointFolder::~CheckpointFolder() {
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

CheckpointFolder::CheckpointFolder(CheckpointFolder&& other) noexcept
    : dir_(std::move(other.dir_)),
      keep_(other.keep_),
      lock_fd_(std::exchange(other.lock_fd_, -1)) {}

CheckpointFolder& CheckpointFolder::operator=(CheckpointFolder&& other) noexcept {
  std::swap(dir_, other.dir_);
  std::swap(keep_, other.keep_);
  std::swap(lock_fd_, other.lock_fd_);
  return *this;
}

StatusOr<fs::path> CheckpointFolder::Write(const CheckpointImage& image) const {
  const int64_t steps = image.manifest.place.steps_done;
  const fs::path target = dir_ / CheckpointName(steps);
  if (const auto model = image.files.find(kModelFile); model != image.files.end()) {
    for (const TensorBytes& tensor : model->second) {
      HG_RETURN_IF_ERROR(Annotate(CheckFinite(tensor), target.string()));
    }
  }
  HG_RETURN_IF_ERROR(CheckDiskSpace(dir_, BytesOf(image)));
  HG_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Create(target, /*replace=*/true));
  CheckpointManifest manifest = image.manifest;
  manifest.files.clear();
  for (const auto& [name, tensors] : image.files) {
    HG_RETURN_IF_ERROR(WriteSafetensors(folder.path() / name, tensors));
    HG_ASSIGN_OR_RETURN(FileEntry entry, ChecksumFile(folder.path(), name));
    manifest.files.push_back(std::move(entry));
  }
  HG_RETURN_IF_ERROR(WriteManifest(folder.path() / kManifestFile, ToJson(manifest)));
  if (image.rest) HG_RETURN_IF_ERROR(image.rest());
  HG_RETURN_IF_ERROR(folder.Commit());
  RemoveOthers(steps);
  return target;
}

void CheckpointFolder::RemoveOthers(int64_t newest) const {
  const auto found = ListCheckpoints(dir_);
  if (!found.ok()) return spdlog::warn("{}", ToString(found.status()));
  int behind = 0;  // of the newest, itself included
  for (auto entry = found->rbegin(); entry != found->rend(); ++entry) {
    if (entry->first <= newest && ++behind <= keep_) continue;
    RemoveOrWarn(entry->second);
  }
}

}  // namespace halograph

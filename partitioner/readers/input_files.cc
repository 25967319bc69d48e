#include "partitioner/readers/input_files.h"

#include <cerrno>
#include <system_error>

#include <stdlib.h>
#include <sys/stat.h>

#include "common/storage/file.h"

namespace halograph {

namespace {

constexpr size_t kMostHintBytes = 100;  // a file name takes 255

}  // namespace

StatusOr<FileStamp> FileStamp::Of(const std::filesystem::path& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "reading", path.string());
  return FileStamp{info.st_ino, info.st_size,
                   int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

Status CheckUnchanged(const std::filesystem::path& path, const FileStamp& first) {
  const StatusOr<FileStamp> now = FileStamp::Of(path);
  if (now.ok() && *now == first) return OkStatus();
  return DataLoss(
      "{}: the file changed while it was being read (it had {} bytes, now {}); run again when no "
      "program writes to the input",
      path.string(), first.bytes, now.ok() ? fmt::format("{}", now->bytes) : "it is gone");
}

Scratch::~Scratch() {
  std::error_code ignored;  // nobody to tell; what stays is plainly named temporary
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

StatusOr<std::filesystem::path> Scratch::NewFile(std::string_view hint) {
  const MutexLock lock(mutex_);
  if (folder_.empty()) {
    std::error_code error;
    if (parent_.empty() || !std::filesystem::is_directory(parent_, error)) {
      return InvalidArgument(
          "the input must be converted first (it holds text or other arrays), but the scratch "
          "folder `{}` does not exist",
          parent_.string());
    }
    std::string name = (parent_ / "halograph-read-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return ErrnoStatus(errno, "creating", name);
    folder_ = name;
  }
  return folder_ /
         fmt::format("{:05d}-{}.npy", files_++, PercentEncode(hint).substr(0, kMostHintBytes));
}

}  // namespace halograph

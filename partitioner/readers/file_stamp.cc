#include "partitioner/readers/file_stamp.h"

#include <cerrno>

#include <sys/stat.h>

namespace halograph {

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
      "{}: the file changed while it was being read (it had {} bytes, now {}); run again when "
      "nothing writes to the input",
      path.string(), first.bytes, now.ok() ? fmt::format("{}", now->bytes) : "it is gone");
}

}  // namespace halograph

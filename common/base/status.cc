#include "common/base/status.h"

#include <cerrno>
#include <system_error>

namespace halograph {
namespace {

absl::StatusCode CodeOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::StatusCode::kResourceExhausted;
    case EACCES:
    case EPERM:
    case EROFS:
    case EISDIR:
      return absl::StatusCode::kFailedPrecondition;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

Status Annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  return MakeStatus(status.code(), fmt::format("{}: {}", context, Message(status)));
}

Status ErrnoStatus(int error_number, std::string_view what, std::string_view path) {
  return MakeStatus(
      CodeOfErrno(error_number),
      fmt::format("{} {}: {}", what, path, std::generic_category().message(error_number)));
}

std::string ToString(const Status& status) {
  const std::string code = absl::StatusCodeToString(status.code());
  return status.ok() ? code : fmt::format("{}: {}", code, Message(status));
}

}  // namespace halograph

#include "common/base/status.h"

#include <cerrno>
#include <system_error>

#include "absl/strings/cord.h"

namespace halograph {
namespace {

constexpr char kReason[] = "halograph/reason";

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

Status WithReason(Status status, std::string_view reason) {
  if (!reason.empty()) status.SetPayload(kReason, absl::Cord(ToAbsl(reason)));
  return status;
}

std::string ReasonOf(const Status& status) {
  const auto reason = status.GetPayload(kReason);
  return reason.has_value() ? std::string(*reason) : "";
}

Status Annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  return WithReason(MakeStatus(status.code(), fmt::format("{}: {}", context, Message(status))),
                    ReasonOf(status));
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

// Errors inside the project are absl::Status. This header holds what every module needs to make
// and pass them on; messages say what, where, and what to do.
//
//   return InvalidArgument("{}: fanout {} is below -1", path, fanout);
//   HG_RETURN_IF_ERROR(file.Sync());
//   HG_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
//
// Thread-safe: nothing here has state.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace halograph {

using Status = absl::Status;
template <typename T>
using StatusOr = absl::StatusOr<T>;

// Abseil as Debian ships it has its own string_view: these two are the only bridges.
inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string Message(const Status& status) { return std::string(status.message()); }

[[nodiscard]] inline Status OkStatus() { return absl::OkStatus(); }
[[nodiscard]] inline Status MakeStatus(absl::StatusCode code, std::string_view message) {
  return Status(code, ToAbsl(message));
}

#define HALOGRAPH_DEFINE_ERROR(Name, Code)                                                       \
  template <typename... Args>                                                                    \
  [[nodiscard]] Status Name(fmt::format_string<Args...> format, Args&&... args) {                \
    return MakeStatus(absl::StatusCode::Code, fmt::format(format, std::forward<Args>(args)...)); \
  }
HALOGRAPH_DEFINE_ERROR(InvalidArgument, kInvalidArgument)
HALOGRAPH_DEFINE_ERROR(NotFound, kNotFound)
HALOGRAPH_DEFINE_ERROR(OutOfRange, kOutOfRange)
HALOGRAPH_DEFINE_ERROR(FailedPrecondition, kFailedPrecondition)
HALOGRAPH_DEFINE_ERROR(AlreadyExists, kAlreadyExists)
HALOGRAPH_DEFINE_ERROR(ResourceExhausted, kResourceExhausted)
HALOGRAPH_DEFINE_ERROR(Unavailable, kUnavailable)
HALOGRAPH_DEFINE_ERROR(DeadlineExceeded, kDeadlineExceeded)
HALOGRAPH_DEFINE_ERROR(Cancelled, kCancelled)
HALOGRAPH_DEFINE_ERROR(DataLoss, kDataLoss)
HALOGRAPH_DEFINE_ERROR(Unimplemented, kUnimplemented)
HALOGRAPH_DEFINE_ERROR(Internal, kInternal)
#undef HALOGRAPH_DEFINE_ERROR

// A word for programs, beside the message, which is for people: what tells this error from others
// of its code. It stays where a status is annotated or crosses the network.
[[nodiscard]] Status WithReason(Status status, std::string_view reason);
[[nodiscard]] std::string ReasonOf(const Status& status);  // empty: it has none

// The same code with "<context>: " in front of the message, and the same reason; OK stays OK.
[[nodiscard]] Status Annotate(const Status& status, std::string_view context);

// The status of a failed system call: "<what> <path>: <strerror>", with the code that fits errno
// (ENOENT, ENOTDIR -> NotFound; ENOSPC, EDQUOT, EFBIG -> ResourceExhausted; EACCES, EPERM, EROFS,
// EISDIR -> FailedPrecondition; EEXIST -> AlreadyExists; else Internal).
[[nodiscard]] Status ErrnoStatus(int error_number, std::string_view what, std::string_view path);

// "NOT_FOUND: message", for a log line or a person.
[[nodiscard]] std::string ToString(const Status& status);

}  // namespace halograph

#define HG_CONCAT_INNER(a, b) a##b
#define HG_CONCAT(a, b) HG_CONCAT_INNER(a, b)

#define HG_RETURN_IF_ERROR(expression)                                                   \
  do {                                                                                   \
    if (::halograph::Status hg_status = (expression); !hg_status.ok()) return hg_status; \
  } while (false)

#define HG_ASSIGN_OR_RETURN(declaration, expression) \
  HG_ASSIGN_OR_RETURN_INNER(HG_CONCAT(hg_or_, __LINE__), declaration, expression)
#define HG_ASSIGN_OR_RETURN_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                      \
  if (!temporary.ok()) return temporary.status();                     \
  declaration = std::move(temporary).value()

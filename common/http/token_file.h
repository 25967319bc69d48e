// The secret that guarded pages want, in a file that only its owner may read.
#pragma once

#include <filesystem>
#include <string>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph {

// The token of a file: one line of at least 16 visible ASCII characters, in a file of at most 4 KiB
// that only its owner may read. The token is in no error and in no log.
//   NotFound            no such file
//   FailedPrecondition  not a file, not readable, or others may read it: the text has the chmod
//   InvalidArgument     anything else in it
[[nodiscard]] StatusOr<std::string> ReadToken(const std::filesystem::path& path);

// Follows a file: a new token holds from the next question on. Thread-safe.
class TokenFile {
 public:
  // `token`: what was read of `path` at the start.
  TokenFile(std::filesystem::path path, std::string token);
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  // Reads the file again. If it has no token now, the last one holds on, and that is logged once.
  [[nodiscard]] std::string Token() HG_EXCLUDES(mutex_);

 private:
  const std::filesystem::path path_;
  Mutex mutex_;
  std::string token_ HG_GUARDED_BY(mutex_);
  std::string warned_of_ HG_GUARDED_BY(mutex_);  // the last error, if that is how it is now
};

}  // namespace halograph

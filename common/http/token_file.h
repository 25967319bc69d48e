// A secret in a file that only its owner may read: what guarded pages want, or what says who calls.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "common/base/mutex.h"
#include "common/base/repeated_work.h"
#include "common/base/status.h"

namespace halograph {

// The token of a file: one line of at least 16 visible ASCII characters, in a file of at most 4 KiB
// that only its owner may read. The token is in no error and in no log.
//   NotFound            no such file
//   FailedPrecondition  not a file, not readable, or others may read it: the text has the chmod
//   InvalidArgument     anything else in it
[[nodiscard]] StatusOr<std::string> ReadToken(const std::filesystem::path& path);

// How a token file is followed; tests have readers of their own.
struct TokenBounds {
  std::chrono::nanoseconds pace = std::chrono::seconds(1);  // between two looks at the file
  std::function<StatusOr<std::string>(const std::filesystem::path&)> read = ReadToken;
  std::string option = "--http-token-file";  // that named the file, for the log
};

// Follows a file in a thread of its own: a new token holds from the next look on, and who asks for
// the token never waits for the file. Thread-safe.
class TokenFile {
 public:
  // `token`: what was read of `path` at the start.
  TokenFile(std::filesystem::path path, std::string token, TokenBounds bounds = {});
  ~TokenFile() = default;  // waits for a read that is under way
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  // As of the last look that ended.
  [[nodiscard]] std::string Token() const HG_EXCLUDES(mutex_);
  // Looks now. If the file has no token, the last one holds on, and that is logged once.
  void ReadAgain() HG_EXCLUDES(mutex_);

 private:
  const std::filesystem::path path_;
  const TokenBounds bounds_;
  mutable Mutex mutex_;
  std::string token_ HG_GUARDED_BY(mutex_);
  std::string warned_of_ HG_GUARDED_BY(mutex_);  // the last error, if that is how it is now
  RepeatedWork looks_;
};

}  // namespace halograph

// The policy of a file that may change while the server runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "common/base/mutex.h"
#include "common/base/repeated_work.h"
#include "common/base/status.h"
#include "server/rights/policy.h"

namespace halograph::server {

// The text of a policy's file.
//   FailedPrecondition  everybody may write it, and so give rights: the text has the chmod
//   OutOfRange          it has more than Policy::kMostBytes
//   else                as ReadTextFile
[[nodiscard]] StatusOr<std::string> ReadPolicyText(const std::filesystem::path& path);

// How the file is followed; tests have readers of their own.
struct PolicyBounds {
  std::chrono::nanoseconds pace = std::chrono::seconds(1);  // between two looks at the file
  std::function<StatusOr<std::string>(const std::filesystem::path&)> read = ReadPolicyText;
};

// Follows a file by its content, in a thread of its own: a new policy holds for calls that come
// after the next look, and none waits for the file. What cannot be read, or is no policy, leaves
// the one before, which is a warning in the log, once a content. Thread-safe.
class PolicyFile {
 public:
  // Reads the file, which must have a policy: errors as bounds.read and Policy::Parse.
  [[nodiscard]] static StatusOr<std::unique_ptr<PolicyFile>> Open(std::filesystem::path path,
                                                                  PolicyBounds bounds = {});
  ~PolicyFile() = default;  // waits for a read that is under way
  PolicyFile(const PolicyFile&) = delete;
  PolicyFile& operator=(const PolicyFile&) = delete;

  // As of the last look that found one. Never null.
  [[nodiscard]] std::shared_ptr<const Policy> policy() const HG_EXCLUDES(mutex_);
  // Looks now.
  void ReadAgain() HG_EXCLUDES(mutex_);

  // Contents, or reasons why there is none, that left the policy before; each counts once.
  [[nodiscard]] int64_t refused() const HG_EXCLUDES(mutex_);
  // Whether the policy that holds is not what the file has.
  [[nodiscard]] bool stale() const HG_EXCLUDES(mutex_);

 private:
  PolicyFile(std::filesystem::path path, PolicyBounds bounds, std::string text, Policy policy);
  // `once`: not again while it is the same.
  void Refuse(const Status& why, bool once) HG_EXCLUDES(mutex_);

  const std::filesystem::path path_;
  const PolicyBounds bounds_;
  Mutex look_mutex_;                             // held for a whole look; before mutex_
  std::string text_ HG_GUARDED_BY(look_mutex_);  // of the last look that could read it
  mutable Mutex mutex_;
  std::shared_ptr<const Policy> policy_ HG_GUARDED_BY(mutex_);
  std::string warned_of_ HG_GUARDED_BY(mutex_);  // the last error, if that is how it is now
  int64_t refused_ HG_GUARDED_BY(mutex_) = 0;
  RepeatedWork looks_;
};

}  // namespace halograph::server

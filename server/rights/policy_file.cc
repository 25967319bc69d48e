#include "server/rights/policy_file.h"

#include <utility>

#include <sys/stat.h>

#include "common/base/log.h"
#include "common/storage/file.h"

namespace halograph::server {

StatusOr<std::string> ReadPolicyText(const std::filesystem::path& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && (about.st_mode & S_IWOTH) != 0) {
    return FailedPrecondition(
        "{} can be written by everybody (mode {:04o}), who could give themselves rights: chmod o-w "
        "{}",
        path.string(), about.st_mode & 07777, path.string());
  }
  return ReadTextFile(path, Policy::kMostBytes);
}

StatusOr<std::unique_ptr<PolicyFile>> PolicyFile::Open(std::filesystem::path path,
                                                       PolicyBounds bounds) {
  HG_ASSIGN_OR_RETURN(std::string text, bounds.read(path));
  HG_ASSIGN_OR_RETURN(Policy policy, Policy::Parse(text, path));
  return std::unique_ptr<PolicyFile>(
      new PolicyFile(std::move(path), std::move(bounds), std::move(text), std::move(policy)));
}

PolicyFile::PolicyFile(std::filesystem::path path, PolicyBounds bounds, std::string text,
                       Policy policy)
    : path_(std::move(path)),
      bounds_(std::move(bounds)),
      text_(std::move(text)),
      policy_(std::make_shared<const Policy>(std::move(policy))),
      looks_("hg-policy", bounds_.pace, [this] {
        ReadAgain();
        return bounds_.pace;
      }) {}

std::shared_ptr<const Policy> PolicyFile::policy() const {
  const MutexLock lock(mutex_);
  return policy_;
}

int64_t PolicyFile::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}

bool PolicyFile::stale() const {
  const MutexLock lock(mutex_);
  return !warned_of_.empty();
}

// Parsing takes a while, and calls ask for the policy meanwhile.
void PolicyFile::ReadAgain() {
  const MutexLock look(look_mutex_);
  StatusOr<std::string> text = bounds_.read(path_);
  if (!text.ok()) {
    text_.clear();  // what is there next is looked at, whatever it is
    return Refuse(text.status(), true);
  }
  if (*text == text_) return;
  text_ = *std::move(text);
  StatusOr<Policy> policy = Policy::Parse(text_, path_);
  if (!policy.ok()) return Refuse(policy.status(), false);
  auto parsed = std::make_shared<const Policy>(*std::move(policy));
  spdlog::info("--policy: {} was read again: {} principals", path_.string(),
               parsed->principals().size());
  const MutexLock lock(mutex_);
  policy_ = std::move(parsed);
  warned_of_.clear();
}

void PolicyFile::Refuse(const Status& why, bool once) {
  const MutexLock lock(mutex_);
  if (once && Message(why) == warned_of_) return;
  warned_of_ = Message(why);
  ++refused_;
  spdlog::warn("--policy: {}; the policy before holds on", warned_of_);
}

}  // namespace halograph::server

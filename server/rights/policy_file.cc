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
      thread_([this] { Run(); }) {}

PolicyFile::~PolicyFile() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

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

void PolicyFile::ReadAgain() {
  StatusOr<std::string> text = bounds_.read(path_);
  const MutexLock lock(mutex_);
  if (!text.ok()) {
    text_.clear();  // what is there next is looked at, whatever it is
    return Message(text.status()) == warned_of_ ? void() : Refuse(text.status());
  }
  if (*text == text_) return;
  text_ = *std::move(text);
  StatusOr<Policy> policy = Policy::Parse(text_, path_);
  if (!policy.ok()) return Refuse(policy.status());
  policy_ = std::make_shared<const Policy>(*std::move(policy));
  warned_of_.clear();
  spdlog::info("--policy: {} was read again: {} principals", path_.string(),
               policy_->principals().size());
}

void PolicyFile::Refuse(const Status& why) {
  warned_of_ = Message(why);
  ++refused_;
  spdlog::warn("--policy: {}; the policy before holds on", warned_of_);
}

void PolicyFile::Run() {
  while (true) {
    {
      const MutexLock lock(mutex_);
      changed_.WaitFor(mutex_, bounds_.pace, [this]() HG_REQUIRES(mutex_) { return ending_; });
      if (ending_) return;
    }
    ReadAgain();
  }
}

}  // namespace halograph::server

#include "common/http/token_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

constexpr size_t kMostBytes = 4096;
constexpr size_t kFewestLetters = 16;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  const int fd_;
};

// Up to one byte more than a token file may have.
StatusOr<std::string> ReadStart(int fd, const std::string& path) {
  std::array<char, kMostBytes + 1> bytes{};
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = read(fd, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  return std::string(bytes.data(), size);
}

}  // namespace

StatusOr<std::string> ReadToken(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(const int opened, OpenToRead(path));
  const Descriptor file(opened);
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return ErrnoStatus(errno, "stat", path.string());
  if ((about.st_mode & 077) != 0) {
    return FailedPrecondition("{} can be read by others (mode {:04o}): chmod 600 {}", path.string(),
                              about.st_mode & 07777, path.string());
  }
  HG_ASSIGN_OR_RETURN(std::string token, ReadStart(file.get(), path.string()));
  if (token.size() > kMostBytes) {
    return InvalidArgument("{} is no token: it has more than {} bytes", path.string(), kMostBytes);
  }
  if (token.ends_with('\n')) token.pop_back();
  if (token.ends_with('\r')) token.pop_back();
  if (token.size() < kFewestLetters) {
    return InvalidArgument(
        "{} has a token of {} characters, expected at least {}: openssl rand -hex 32",
        path.string(), token.size(), kFewestLetters);
  }
  if (!std::all_of(token.begin(), token.end(),
                   [](unsigned char letter) { return letter > ' ' && letter < 0x7f; })) {
    return InvalidArgument(
        "{} is no token: expected one line of visible ASCII characters without blanks",
        path.string());
  }
  return token;
}

TokenFile::TokenFile(std::filesystem::path path, std::string token, TokenBounds bounds)
    : path_(std::move(path)),
      bounds_(std::move(bounds)),
      token_(std::move(token)),
      looks_("hg-token", bounds_.pace, [this] {
        ReadAgain();
        return bounds_.pace;
      }) {}

std::string TokenFile::Token() const {
  const MutexLock lock(mutex_);
  return token_;
}

void TokenFile::ReadAgain() {
  StatusOr<std::string> found = bounds_.read(path_);
  const MutexLock lock(mutex_);
  if (found.ok()) {
    if (*found != token_) spdlog::info("the token of {} has changed", bounds_.option);
    token_ = *std::move(found);
    warned_of_.clear();
  } else if (Message(found.status()) != warned_of_) {
    warned_of_ = Message(found.status());
    spdlog::warn("{}: {}; the token before holds on", bounds_.option, warned_of_);
  }
}

}  // namespace halograph

#include "client/topology_copy/fetch_lock.h"

#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/host_name.h"
#include "common/base/log.h"
#include "common/base/units.h"

namespace halograph {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{100};
constexpr std::chrono::seconds kFirstLine{1};
constexpr std::chrono::seconds kNextLine{5};
constexpr size_t kNoteBytes = 512;

std::string Holder() { return fmt::format("process {} of {}", getpid(), HostName()); }

std::string ReadNote(int fd) {
  std::string note(kNoteBytes, '\0');
  const ssize_t bytes = pread(fd, note.data(), note.size(), 0);
  note.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return note.empty() ? "another process" : note;
}

// Held after OK, the file open as `fd` in any case.
Status Wait(int fd, const std::filesystem::path& file, std::chrono::nanoseconds patience,
            const CallContext& context) {
  std::string note;
  Clock::time_point news = Clock::now();
  Clock::time_point next_line = news + kFirstLine;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return ErrnoStatus(errno, "cannot lock", file.string());
    }
    HG_RETURN_IF_ERROR(context.Check());
    const Clock::time_point now = Clock::now();
    if (std::string latest = ReadNote(fd); latest != note) {
      note = std::move(latest);
      news = now;
    }
    if (now - news > patience) {
      return DeadlineExceeded(
          "{}: {}, and has made no progress for {}; stop that process, or use another --cache-dir",
          file.string(), note, FormatSeconds(std::chrono::duration<double>(patience).count()));
    }
    if (now >= next_line) {
      spdlog::info("waiting for the topology: {} (lock {})", note, file.string());
      next_line = now + kNextLine;
    }
    std::this_thread::sleep_for(kPoll);
  }
  return OkStatus();
}

}  // namespace

StatusOr<TopologyFetchLock> TopologyFetchLock::Acquire(const std::filesystem::path& file,
                                                       std::chrono::nanoseconds patience,
                                                       const CallContext& context) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoStatus(errno, "cannot open", file.string());
  TopologyFetchLock lock(fd);
  HG_RETURN_IF_ERROR(Wait(fd, file, patience, context));
  lock.Note("is about to start");
  return lock;
}

TopologyFetchLock::~TopologyFetchLock() {
  if (fd_ >= 0) close(fd_);
}

TopologyFetchLock::TopologyFetchLock(TopologyFetchLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

TopologyFetchLock& TopologyFetchLock::operator=(TopologyFetchLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void TopologyFetchLock::Note(std::string_view progress) {
  const std::string note = fmt::format("{} {}", Holder(), progress).substr(0, kNoteBytes);
  // Only a hint for people: a full disk must not end a fetch here.
  if (pwrite(fd_, note.data(), note.size(), 0) == static_cast<ssize_t>(note.size())) {
    [[maybe_unused]] const int cut = ftruncate(fd_, static_cast<off_t>(note.size()));
  }
}

}  // namespace halograph

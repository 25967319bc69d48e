#include "common/base/bus_error.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

// What runs in the handler neither allocates nor locks.
namespace halograph {
namespace {

const char* program_name = "";

void Put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

// /proc/self/maps, a character at a time; '\0' at its end.
class MapsReader {
 public:
  MapsReader() : fd_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  char Next() {
    if (next_ == size_) {
      size_ = ::read(fd_, buffer_.data(), buffer_.size());
      next_ = 0;
      if (size_ <= 0) return size_ = 0, '\0';
    }
    return buffer_[static_cast<size_t>(next_++)];
  }
  // The number up to the character that ends it.
  uintptr_t Hex() {
    uintptr_t value = 0;
    for (char c = Next(); (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); c = Next()) {
      value = value * 16 + static_cast<uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return value;
  }

 private:
  int fd_;
  std::array<char, 4096> buffer_;
  ssize_t size_ = 0;
  ssize_t next_ = 0;
};

// The path of what is mapped there, into `path`; empty if that is no file. A line of the system's
// table is "begin-end mode offset device inode /path".
std::string_view FileAt(uintptr_t address, std::array<char, 4096>* path) {
  MapsReader maps;
  for (char c = '\n'; c != '\0';) {
    const uintptr_t begin = maps.Hex();
    const uintptr_t end = maps.Hex();
    size_t length = 0;
    for (c = maps.Next(); c != '\n' && c != '\0'; c = maps.Next()) {
      if ((length > 0 || c == '/') && length < path->size()) (*path)[length++] = c;
    }
    if (begin <= address && address < end) return {path->data(), length};
  }
  return {};
}

// Several threads may read the file at once. The first one reports and ends the process; the others
// stay here until then: a return would repeat the read, and the default action of the signal would
// end the process before the report is written. A second SIGBUS of the reporting thread itself
// finds the signal blocked, and the kernel ends the process.
void EndHere(int /*signal*/, siginfo_t* info, void* /*context*/) {
  static std::atomic_flag reporting;
  while (reporting.test_and_set(std::memory_order_relaxed)) ::pause();
  static std::array<char, 4096> path;
  const std::string_view file = FileAt(reinterpret_cast<uintptr_t>(info->si_addr), &path);
  Put(program_name);
  Put(": ");
  Put(file.empty() ? "a mapped file" : file);
  Put(": cut short, or unreadable, while it was in use (SIGBUS); repair or replace the file, then "
      "restart\n");
  ::_exit(1);
}

}  // namespace

void EndOnBusErrors(const char* program) {
  program_name = program;
  struct sigaction action {};
  action.sa_sigaction = EndHere;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace halograph

#include "common/program/out_of_memory.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <new>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

namespace halograph {
namespace {

std::string OutOfMemory(std::string_view advice) {
  return fmt::format("out of memory{}{}", advice.empty() ? "" : "; ", advice);
}

// What the handler writes: it neither allocates nor locks.
std::array<char, 512> last_line;
size_t last_line_size = 0;

// Whether not even a thread with its heap could be made: so much a library asks for at a time.
bool MemoryIsOut() {
  constexpr size_t kBytes = size_t{160} << 20;
  void* const taken = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) return true;
  munmap(taken, kBytes);
  return false;
}

// A return leaves the process to abort().
void EndIfMemoryIsOut(int /*signal*/) {
  if (!MemoryIsOut()) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, last_line.data(), last_line_size);
  _exit(1);
}

}  // namespace

Status StatusOfException(const std::exception& error, std::string_view advice) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return ResourceExhausted("{}", OutOfMemory(advice));
  }
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return ResourceExhausted(
        "no memory to start a thread, or too many of them: raise the limits of memory (ulimit -v) "
        "and of processes (ulimit -u), or use fewer threads");
  }
  return Internal("unexpected error: {}", error.what());
}

void EndOnAbortWithoutMemory(std::string_view program, std::string_view advice) {
  const std::string text = fmt::format("{}: {}\n", program, OutOfMemory(advice));
  last_line_size = std::min(text.size(), last_line.size());
  std::copy_n(text.begin(), last_line_size, last_line.begin());
  std::signal(SIGABRT, EndIfMemoryIsOut);
}

}  // namespace halograph

#include "tests/bench/hybrid/delay_line.h"

#include <cerrno>
#include <optional>
#include <utility>

#include <sys/prctl.h>
#include <sys/socket.h>

namespace halograph {

DelayLine::DelayLine(int from, int to, std::chrono::nanoseconds delay)
    : from_(from), to_(to), delay_(delay), reader_([this] { Read(); }), writer_([this] {
        Write();
      }) {}

DelayLine::~DelayLine() {
  reader_.join();
  writer_.join();
}

void DelayLine::Read() {
  while (true) {
    Chunk chunk;
    chunk.bytes = std::make_unique_for_overwrite<std::byte[]>(kChunkBytes);
    const ssize_t got = ::recv(from_, chunk.bytes.get(), kChunkBytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    chunk.due = std::chrono::steady_clock::now() + delay_;
    chunk.size = static_cast<size_t>(got);
    if (!queue_.Push(std::move(chunk))) break;
  }
  queue_.Close();
}

void DelayLine::Write() {
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // by default sleeps are up to 50 us longer than asked
  while (const std::optional<Chunk> chunk = queue_.Pop()) {
    std::this_thread::sleep_until(chunk->due);
    if (Send(*chunk)) continue;
    ::shutdown(from_, SHUT_RD);  // ends the reader
    queue_.Close();
    break;
  }
  ::shutdown(to_, SHUT_WR);
  done_.store(true);
}

bool DelayLine::Send(const Chunk& chunk) const {
  for (size_t sent = 0; sent < chunk.size;) {
    const ssize_t n = ::send(to_, chunk.bytes.get() + sent, chunk.size - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace halograph

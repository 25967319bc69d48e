#include "common/base/progress.h"

#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/units.h"

namespace halograph {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kTerminalInterval = kSecond / 10;
constexpr int64_t kPlainInterval = 5 * kSecond;
// A phase that ends sooner leaves no line.
constexpr int64_t kFirstShow = kSecond / 2;

std::atomic<bool> enabled{true};

bool OnTerminal() {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  return terminal;
}

int64_t Interval() { return OnTerminal() ? kTerminalInterval : kPlainInterval; }

int64_t NanosecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

std::string FormatRate(double rate) {
  if (rate >= 1e6) return fmt::format("{:.1f} M/s", rate / 1e6);
  if (rate >= 10) return FormatCount(std::llround(rate)) + "/s";
  return fmt::format("{:.1f}/s", rate);
}

// Nothing comes of a write that fails: nobody may be left to read what is on stderr.
void WriteLine(std::string_view text, bool last) {
  std::string line;
  if (OnTerminal()) {
    line = fmt::format("\r\033[K{}{}", text, last ? "\n" : "");
  } else if (!spdlog::default_logger_raw()->name().empty()) {
    spdlog::info("{}", text);  // with time and level, as all else that a program says
    return;
  } else {
    line = fmt::format("{}\n", text);
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string ProgressLine(const ProgressState& state) {
  // A phase that counts nothing, one call of a library say, ends with its time alone.
  if (state.last && state.count == 0 && state.total == 0 && state.note.empty()) {
    return fmt::format("{}: done in {}", state.phase, FormatSeconds(state.seconds));
  }
  const int64_t done = state.count - state.before;
  std::string line =
      fmt::format("{}: {}", state.phase, FormatCount(state.last ? done : state.count));
  if (state.total > 0 && !state.last) {
    line +=
        fmt::format(" of {} ({:.0f} %)", FormatCount(state.total),
                    100.0 * static_cast<double>(state.count) / static_cast<double>(state.total));
  }
  const double rate = state.seconds > 0 ? static_cast<double>(done) / state.seconds : 0;
  if (state.last) line += " in " + FormatSeconds(state.seconds);
  if (rate > 0) line += ", " + FormatRate(rate);
  if (!state.last && rate > 0 && state.total > state.count) {
    line += fmt::format(", {} left",
                        FormatSeconds(static_cast<double>(state.total - state.count) / rate));
  }
  if (!state.note.empty()) line += ", " + state.note;
  return line;
}

Progress::Progress(std::string phase, int64_t total)
    : phase_(std::move(phase)),
      total_(total),
      start_(std::chrono::steady_clock::now()),
      next_show_ns_(OnTerminal() ? kFirstShow : kPlainInterval) {}

Progress::~Progress() { Done(); }

void Progress::BeginAt(int64_t items) {
  const MutexLock lock(mutex_);
  before_ = items;
  count_ = items;
}

void Progress::Advance(int64_t items) {
  count_.fetch_add(items, std::memory_order_relaxed);
  const int64_t now = NanosecondsSince(start_);
  int64_t next = next_show_ns_.load(std::memory_order_relaxed);
  // Of several threads that find it is time, the one that moves the mark shows the line.
  if (now < next || !next_show_ns_.compare_exchange_strong(next, now + Interval())) return;
  Show(/*last=*/false);
}

void Progress::Done() { Show(/*last=*/true); }

void Progress::Note(std::string note) {
  const MutexLock lock(mutex_);
  note_ = std::move(note);
}

bool Progress::Enable(bool on) { return enabled.exchange(on); }

void Progress::Show(bool last) {
  const MutexLock lock(mutex_);
  if (done_) return;
  done_ = last;
  const int64_t elapsed = NanosecondsSince(start_);
  if (!enabled.load() || (last && !shown_ && elapsed < kFirstShow)) return;
  shown_ = true;
  WriteLine(ProgressLine({phase_, count_.load(), total_,
                          static_cast<double>(elapsed) / static_cast<double>(kSecond), note_, last,
                          before_}),
            last);
}

}  // namespace halograph

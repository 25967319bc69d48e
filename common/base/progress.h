// One progress line for a long phase: rewritten in place on a terminal (at most ten times a
// second), lines of the log (of level info) every few seconds elsewhere, nothing for phases that
// end at once.
//   Progress progress("reading edges", total);  progress.Advance(chunk);  progress.Done();
// Writes to stderr. Advance is thread-safe and cheap.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "common/base/mutex.h"

namespace halograph {

// The text of a line, without terminal control: "reading edges: 1,200 of 2,400 (50 %), 600/s,
// 2.0 s left, <note>"; the last one ends in the time taken instead. Pure.
struct ProgressState {
  std::string phase;
  int64_t count = 0;
  int64_t total = 0;  // 0: unknown
  double seconds = 0;
  std::string note;
  bool last = false;
  int64_t before = 0;  // of count: done before the phase began, so that they do not tell its speed
};
[[nodiscard]] std::string ProgressLine(const ProgressState& state);

class Progress {
 public:
  // `total` in items, 0 if unknown. The line shows count, rate and, with a total, the time left.
  explicit Progress(std::string phase, int64_t total = 0);
  ~Progress();  // calls Done
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Items that were done before, of a phase that goes on: the count begins there. Before the first
  // Advance.
  void BeginAt(int64_t items);
  void Advance(int64_t items);
  // The last line: items and seconds taken. Idempotent.
  void Done();
  // A note shown at the end of the line ("loss 0.61"); thread-safe.
  void Note(std::string note);

  // Turns every progress line of the process off or on (option --quiet; tests). Returns what it
  // was.
  static bool Enable(bool on);

 private:
  void Show(bool last);

  const std::string phase_;
  const int64_t total_;
  const std::chrono::steady_clock::time_point start_;
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> next_show_ns_;
  Mutex mutex_;
  std::string note_ HG_GUARDED_BY(mutex_);
  int64_t before_ HG_GUARDED_BY(mutex_) = 0;
  bool shown_ HG_GUARDED_BY(mutex_) = false;
  bool done_ HG_GUARDED_BY(mutex_) = false;
};

}  // namespace halograph

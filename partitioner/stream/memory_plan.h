// How much anonymous memory a run holds in each phase, computed before it starts. --memory is
// checked against it, and `plan` prints it. Mapped input and output files do not count, because
// the kernel drops their pages when memory is short.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/base/status.h"

namespace halograph {

struct HeldMemory {
  std::string what;  // "owners", "degrees", "METIS (estimate)"
  int64_t bytes = 0;
};

struct MemoryPhase {
  std::string name;  // "clustering", "writing"
  std::vector<HeldMemory> held;

  [[nodiscard]] int64_t bytes() const;
};

// Plain value; phases in the order they run.
struct MemoryPlan {
  std::vector<MemoryPhase> phases;

  // The largest phase; 0 without phases.
  [[nodiscard]] int64_t peak_bytes() const;
  void Append(const MemoryPlan& later);
  // One line a phase with its bytes and what it holds, the largest marked.
  [[nodiscard]] std::string ToText() const;
};

// The program itself, its libraries, stacks and small buffers: part of every promise.
inline constexpr int64_t kProgramBytes = int64_t{32} << 20;

// ResourceExhausted if the plan with kProgramBytes exceeds `limit`: names both figures, the phase
// and what it holds most of, and the least limit that would do.
[[nodiscard]] Status CheckMemory(const MemoryPlan& plan, int64_t limit);

// A limit that is none.
inline constexpr int64_t kAnyMemory = std::numeric_limits<int64_t>::max();

// What `held` bytes leave of a limit; kAnyMemory stays.
[[nodiscard]] inline int64_t MemoryLeft(int64_t limit, int64_t held) {
  return limit == kAnyMemory ? limit : std::max<int64_t>(limit - held, 0);
}

// Anonymous memory that a process holds now (RssAnon: heap and stacks, without mapped files), in
// bytes; 0 if it is gone.
[[nodiscard]] int64_t AnonymousMemory(pid_t process);

// What --memory is where it is not given: most of what the machine has free, or of what the
// control group of the process may still take, whichever is less.
[[nodiscard]] int64_t AvailableMemory();

}  // namespace halograph

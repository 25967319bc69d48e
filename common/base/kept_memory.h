// How much freed memory a process keeps.
#pragma once

#include <malloc.h>

namespace halograph {

// Blocks of up to so many bytes stay with the process when they are freed, and as many bytes at the
// end of the heap: what every message or step allocates is not faulted in again. At most 32 MiB.
inline void KeepFreedMemory(int bytes) {
  mallopt(M_MMAP_THRESHOLD, bytes);
  mallopt(M_TRIM_THRESHOLD, bytes);
}

// Of programs that send and receive rows by the message all the time.
inline constexpr int kFreedBytesOfATrainer = 32 << 20;

}  // namespace halograph

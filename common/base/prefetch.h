// Prefetches that the compiler keeps. GCC takes a function that only prefetches for one without
// effect, and drops calls of it unless they are inlined before. The empty assembly is an effect
// that GCC has to keep; it costs nothing.
#pragma once

namespace halograph {

// The cache line at `address` will be read soon. Any address: it is never followed.
inline void PrefetchToRead(const void* address) {
  __builtin_prefetch(address, 0);
  asm volatile("");
}
// The same for a line that will be written.
inline void PrefetchToWrite(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

}  // namespace halograph

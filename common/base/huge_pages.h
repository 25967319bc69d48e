// Memory in huge pages: random access to a large array in small ones pays a TLB miss an entry, and
// fresh memory a fault for every 4 KiB.
#pragma once

#include <cstddef>

namespace halograph {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Asks for huge pages under anonymous memory that is not written yet; does nothing below the size
// of one. Only advice: without it, or on a kernel without huge pages, everything works, slower.
// Requires `data`, if so large, at the start of a page.
void AskForHugePages(void* data, size_t bytes);

}  // namespace halograph

// Memory in huge pages. In small pages, random access to a large array costs a TLB miss an entry,
// and fresh memory costs a page fault for every 4 KiB.
#pragma once

#include <cstddef>

namespace halograph {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Asks for huge pages under anonymous memory that is not written yet. Does nothing for less than
// one huge page. It is only advice: on a kernel without huge pages everything works, but slower.
// Requires that `data` starts a page if it is at least that large.
void AskForHugePages(void* data, size_t bytes);

}  // namespace halograph

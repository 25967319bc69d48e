#include "common/base/huge_pages.h"

#include <sys/mman.h>

namespace halograph {

void AskForHugePages(void* data, size_t bytes) {
  if (bytes >= kHugePageBytes) static_cast<void>(::madvise(data, bytes, MADV_HUGEPAGE));
}

}  // namespace halograph

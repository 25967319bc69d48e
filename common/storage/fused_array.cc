#include "common/storage/fused_array.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "common/base/huge_pages.h"

namespace halograph::internal {

void* MapMemory(size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  AskForHugePages(data, bytes);
  return data;
}

void UnmapMemory(void* data, size_t bytes) {
  if (data != nullptr) ::munmap(data, bytes);
}

void* RemapMemory(void* data, size_t old_bytes, size_t new_bytes) {
  void* const moved = MapMemory(new_bytes);
  if (data == nullptr || moved == nullptr) return moved;
  // Not mremap: ThreadSanitizer does not see it, and takes memory that comes back for shared.
  std::memcpy(moved, data, std::min(old_bytes, new_bytes));
  UnmapMemory(data, old_bytes);
  return moved;
}

}  // namespace halograph::internal

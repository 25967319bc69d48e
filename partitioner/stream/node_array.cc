#include "partitioner/stream/node_array.h"

#include <sys/mman.h>

#include "common/base/huge_pages.h"
#include "common/base/units.h"

namespace halograph::internal {
namespace {

// Smaller arrays stay in the cache anyway.
constexpr size_t kWorthHugePages = size_t{8} << 20;

}  // namespace

StatusOr<void*> MapHugePages(size_t bytes, std::string_view what) {
  if (bytes == 0) return static_cast<void*>(nullptr);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted(
        "not enough memory for {} ({}): free some, or choose a method that needs less (see "
        "halograph-partition plan)",
        what, FormatBytes(static_cast<int64_t>(bytes)));
  }
  // Without them all works, at a third of the speed.
  if (bytes >= kWorthHugePages) AskForHugePages(data, bytes);
  return data;
}

void UnmapHugePages(void* data, size_t bytes) { static_cast<void>(::munmap(data, bytes)); }

bool ForgetPages(void* data, size_t bytes) { return ::madvise(data, bytes, MADV_DONTNEED) == 0; }

}  // namespace halograph::internal

#include "partitioner/methods/stream_metis/node_array.h"

#include <sys/mman.h>

#include "common/base/units.h"

namespace halograph {
namespace {

// Smaller arrays stay in the cache anyway.
constexpr size_t kWorthHugePages = size_t{8} << 20;

}  // namespace

StatusOr<void*> MapHugePages(size_t bytes, std::string_view what) {
  if (bytes == 0) return static_cast<void*>(nullptr);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted("stream-metis: no memory for {} ({})", what,
                             FormatBytes(static_cast<int64_t>(bytes)));
  }
  // A wish: without huge pages all works, at a third of the speed.
  if (bytes >= kWorthHugePages) static_cast<void>(::madvise(data, bytes, MADV_HUGEPAGE));
  return data;
}

void UnmapHugePages(void* data, size_t bytes) { static_cast<void>(::munmap(data, bytes)); }

}  // namespace halograph

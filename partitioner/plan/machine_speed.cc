#include "partitioner/plan/machine_speed.h"

#include <algorithm>
#include <span>
#include <vector>

#include "common/base/prefetch.h"
#include "common/base/rng.h"
#include "common/base/stopwatch.h"
#include "common/sampling/fused_array.h"
#include "common/storage/file.h"
#include "partitioner/stream/ahead.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr int64_t kAccesses = int64_t{1} << 22;
constexpr int64_t kAhead = 2 * kFarAhead;  // both ends of an edge
constexpr int64_t kWriteBytes = int64_t{128} << 20;

}  // namespace

double RandomAccessNs(int64_t bytes, Access access) {
  const int64_t limit = std::min(kMostBytes, AvailableMemory() / 4);
  const auto count = static_cast<size_t>(std::clamp<int64_t>(bytes, 4096, limit) / 4);
  const FusedArray<uint32_t> array(count);
  for (size_t i = 0; i < count; i += 1024) array.data()[i] = 1;  // pages are there
  const Stopwatch watch;
  const auto place = [&](int64_t i) {
    return array.data() + Bounded(Mix(static_cast<uint64_t>(i)), count);
  };
  for (int64_t i = 0; i < kAccesses; ++i) {
    if (access == Access::kAskedAhead) PrefetchToWrite(place(i + kAhead));
    ++*place(i);
  }
  return watch.Seconds() * 1e9 / static_cast<double>(kAccesses);
}

StatusOr<double> WriteSpeed(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "write-speed";
  const std::vector<std::byte> block(size_t{1} << 20);
  const Stopwatch watch;
  HG_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  for (int64_t written = 0; written < kWriteBytes; written += static_cast<int64_t>(block.size())) {
    HG_RETURN_IF_ERROR(writer.Append(std::span(block)));
  }
  HG_RETURN_IF_ERROR(writer.Close());
  const double seconds = watch.Seconds();
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return static_cast<double>(kWriteBytes) / std::max(seconds, 1e-6);
}

}  // namespace halograph

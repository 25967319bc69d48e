#include "client/local/mapped_rows.h"

#include <vector>

#include "common/storage/row_gather.h"

namespace halograph {
namespace {

constexpr int64_t kPullGrain = 2048;  // rows a task

// The ids of one chunk, those of each owner together, beside their rows in the destination.
struct OwnerGroups {
  std::vector<size_t> starts;  // parts + 1
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;
};

// Which rows of a request a task is about.
struct Chunk {
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;  // empty: consecutive from `first`
  int64_t first = 0;

  [[nodiscard]] int64_t position(size_t i) const {
    return positions.empty() ? first + static_cast<int64_t>(i) : positions[i];
  }
};

OwnerGroups GroupByOwner(std::span<const int64_t> boundaries, const Chunk& chunk) {
  OwnerGroups groups;
  const size_t count = chunk.ids.size();
  std::vector<int32_t> owners(count);
  groups.starts.assign(boundaries.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    owners[i] = FindRange(boundaries, chunk.ids[i]);
    ++groups.starts[owners[i] + 1];
  }
  for (size_t p = 1; p < groups.starts.size(); ++p) groups.starts[p] += groups.starts[p - 1];
  groups.ids.resize(count);
  groups.positions.resize(count);
  std::vector<size_t> next(groups.starts.begin(), groups.starts.end() - 1);
  for (size_t i = 0; i < count; ++i) {
    const size_t slot = next[owners[i]]++;
    groups.ids[slot] = chunk.ids[i];
    groups.positions[slot] = chunk.position(i);
  }
  return groups;
}

// All of one part.
void GatherFromPart(const Partition& part, const ResolvedTensor& tensor, const Chunk& chunk,
                    std::byte* destination) {
  const TensorRows rows = RowsOf(part, tensor);
  const size_t row_bytes = tensor.spec.row_bytes();
  if (chunk.positions.empty()) {
    GatherRows(rows.bytes, row_bytes, rows.ids.begin, chunk.ids,
               destination + static_cast<size_t>(chunk.first) * row_bytes);
  } else {
    GatherRowsTo(rows.bytes, row_bytes, rows.ids.begin, chunk.ids, chunk.positions, destination);
  }
}

void GatherChunk(const MappedGraph& graph, const ResolvedTensor& tensor, const Chunk& chunk,
                 std::byte* destination) {
  const std::span<const std::unique_ptr<Partition>> parts = graph.parts->parts();
  if (parts.size() == 1) return GatherFromPart(*parts[0], tensor, chunk, destination);
  const OwnerGroups groups = GroupByOwner(Boundaries(graph.info.book, tensor), chunk);
  for (const auto& part : parts) {
    const size_t begin = groups.starts[part->part()];
    const size_t count = groups.starts[part->part() + 1] - begin;
    if (count == 0) continue;
    GatherFromPart(*part, tensor,
                   {.ids = std::span(groups.ids).subspan(begin, count),
                    .positions = std::span(groups.positions).subspan(begin, count)},
                   destination);
  }
}

}  // namespace

void GatherMappedRows(const MappedGraph& graph, const ResolvedTensor& tensor,
                      std::span<const int64_t> ids, std::span<const int64_t> positions,
                      std::byte* destination, const std::atomic<bool>& stopped) {
  ParallelFor(graph.pool.get(), static_cast<int64_t>(ids.size()), kPullGrain,
              [&](int64_t begin, int64_t end) {
                if (stopped.load(std::memory_order_relaxed)) return;
                const auto count = static_cast<size_t>(end - begin);
                const auto from = static_cast<size_t>(begin);
                Chunk chunk{.ids = ids.subspan(from, count), .positions = {}, .first = begin};
                if (!positions.empty()) chunk.positions = positions.subspan(from, count);
                GatherChunk(graph, tensor, chunk, destination);
              });
}

}  // namespace halograph

#include "common/state/engine/rows/memory_rows.h"

#include <algorithm>
#include <vector>

namespace halograph {
namespace {

constexpr int64_t kIdsAtATime = 65536;

}  // namespace

int64_t ApplyTo(PushKind kind, std::span<const PushedRows> lists, RowTable* table,
                ThreadPool* pool) {
  switch (kind) {
    case PushKind::kGradient:
      return table->ApplyGradients(lists, pool);
    case PushKind::kAdd:
      return table->Add(lists, pool);
    case PushKind::kAssign:
      return table->Assign(lists, pool);
    case PushKind::kImage:
      return table->AssignImages(lists);
    case PushKind::kBits:
      return table->AssignBits(lists);
  }
  return 0;
}

Status MemoryRows::Begin(int64_t begin, int64_t end) {
  std::vector<int64_t> made;
  const HelperThreads::Share share(helpers_, static_cast<size_t>(end - begin) * image_bytes());
  while (begin < end) {
    const int64_t next = std::min(end, begin + kIdsAtATime);
    table_.Initialize(begin, origins_.Of(begin, next, &made), origins_.total_rows(), share.pool());
    begin = next;
  }
  return OkStatus();
}

Status MemoryRows::LoadImages(std::span<const int64_t> rows, std::span<const std::byte> images) {
  const size_t bytes = table_.image_bytes();
  for (size_t i = 0; i < rows.size(); ++i) table_.LoadImage(rows[i], images.data() + i * bytes);
  return OkStatus();
}

StatusOr<int64_t> MemoryRows::Apply(PushKind kind, std::span<const PushedRows> lists) {
  size_t bytes = 0;
  for (const PushedRows& list : lists) bytes += list.values.size();
  const HelperThreads::Share share(helpers_, bytes);
  return ApplyTo(kind, lists, &table_, share.pool());
}

Status MemoryRows::Gather(std::span<const int64_t> rows, std::span<const int64_t> positions,
                          std::byte* out) const {
  table_.Gather(rows, positions, out);
  return OkStatus();
}

Status MemoryRows::SaveImages(std::span<const int64_t> rows, std::byte* out) const {
  const size_t bytes = table_.image_bytes();
  for (size_t i = 0; i < rows.size(); ++i) table_.SaveImage(rows[i], out + i * bytes);
  return OkStatus();
}

}  // namespace halograph

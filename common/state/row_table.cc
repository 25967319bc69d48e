#include "common/state/row_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "common/state/initial_values.h"
#include "common/state/row_kernels.h"
#include "common/storage/row_gather.h"

namespace halograph {
namespace {

static_assert(std::endian::native == std::endian::little, "images are little-endian");

// What one thread takes at a time: rows of as much memory, and how many.
constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr size_t kLeastChunk = 16;
constexpr size_t kMostChunk = 8192;

int64_t ChunkOf(const RowLayout& layout) {
  return static_cast<int64_t>(std::clamp(kChunkBytes / layout.stride, kLeastChunk, kMostChunk));
}

}  // namespace

RowTable::RowTable(const MutableTensorSpec& spec, int64_t rows, FusedArray<std::byte> memory)
    : spec_(spec), layout_(RowLayout::Of(spec)), rows_(rows), memory_(std::move(memory)) {}

int64_t RowTable::MemoryBytes(const MutableTensorSpec& spec, int64_t rows) {
  const auto stride = static_cast<int64_t>(RowLayout::Of(spec).stride);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return rows > kMost / stride ? kMost : rows * stride;
}

StatusOr<RowTable> RowTable::Make(const MutableTensorSpec& spec, int64_t rows) {
  const int64_t bytes = MemoryBytes(spec, rows);
  try {
    return RowTable(spec, rows, FusedArray<std::byte>(static_cast<size_t>(bytes)));
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(
        "tensor '{}': {} rows take {} bytes of memory, and the system does not give them; use more "
        "partitions, a smaller dim, or an optimizer with less state",
        spec.ref.name, rows, bytes);
  }
}

void RowTable::Initialize(int64_t first, std::span<const int64_t> original_ids, int64_t total_rows,
                          ThreadPool* pool) {
  const InitialValues initial(spec_, total_rows);
  ParallelFor(pool, static_cast<int64_t>(original_ids.size()), ChunkOf(layout_),
              [&](int64_t begin, int64_t end) {
                float values[kMaxTensorDim];  // no more than dim of them are touched
                for (int64_t i = begin; i < end; ++i) {
                  std::byte* const row = Row(first + i);
                  initial.Fill(original_ids[static_cast<size_t>(i)], values);
                  WriteRow(layout_, values, row);
                  std::memset(row + layout_.state_at, 0, layout_.state_bytes);
                }
              });
}

Status RowTable::CheckFinite(const PushedRows& pushed, int64_t dim) {
  const auto found = FindNotFinite(pushed.dtype, pushed.values);
  if (!found.has_value()) return OkStatus();
  const auto columns = static_cast<size_t>(dim);
  return InvalidArgument(
      "position {}, column {}: the value is {}; push finite numbers", *found / columns,
      *found % columns,
      ToFloat(pushed.dtype, pushed.values.data() + *found * DTypeSize(pushed.dtype)));
}

int64_t RowTable::ApplyGradients(std::span<const PushedRows> lists, ThreadPool* pool) {
  return Apply(StepOf(spec_.optimizer), lists, pool);
}

int64_t RowTable::Add(std::span<const PushedRows> lists, ThreadPool* pool) {
  return Apply(RowStep::kAdd, lists, pool);
}

int64_t RowTable::Assign(std::span<const PushedRows> lists, ThreadPool* pool) {
  return Apply(RowStep::kAssign, lists, pool);
}

int64_t RowTable::AssignImages(std::span<const PushedRows> lists) {
  int64_t not_finite = 0;
  for (const PushedRows& list : lists) {
    const std::byte* image = list.values.data();
    for (const int64_t row : list.rows) {
      LoadImage(row, image);
      if (!IsFiniteImage(layout_, image)) ++not_finite;
      image += image_bytes();
    }
  }
  return not_finite;
}

int64_t RowTable::AssignBits(std::span<const PushedRows> lists) {
  int64_t not_finite = 0;
  for (const PushedRows& list : lists) {
    const std::byte* values = list.values.data();
    for (const int64_t row : list.rows) {
      std::memcpy(Row(row), values, layout_.value_bytes);
      if (FindNotFinite(layout_.dtype, {values, layout_.value_bytes}).has_value()) ++not_finite;
      values += layout_.value_bytes;
    }
  }
  return not_finite;
}

int64_t RowTable::Apply(RowStep step, std::span<const PushedRows> lists, ThreadPool* pool) {
  order_.Sort(lists, rows_);
  const RowUpdate update{.rows = memory_.data(),
                         .layout = layout_,
                         .step = step,
                         .optimizer = spec_.optimizer,
                         .lists = lists,
                         .order = &order_};
  std::atomic<int64_t> not_finite = 0;
  ParallelFor(pool, static_cast<int64_t>(order_.size()), ChunkOf(layout_),
              [&](int64_t begin, int64_t end) {
                const size_t count =
                    UpdateRows(update, static_cast<size_t>(begin), static_cast<size_t>(end));
                if (count > 0) not_finite += static_cast<int64_t>(count);
              });
  order_.Trim();
  return not_finite;
}

void RowTable::Gather(std::span<const int64_t> rows, std::span<const int64_t> positions,
                      std::byte* out) const {
  GatherStridedRows(memory_.data(), layout_.value_bytes, layout_.stride, rows, positions, out);
}

void RowTable::SaveImage(int64_t row, std::byte* out) const {
  const std::byte* const from = Row(row);
  std::memcpy(out, from, layout_.value_bytes);
  std::memcpy(out + layout_.value_bytes, from + layout_.state_at, layout_.state_bytes);
}

void RowTable::LoadImage(int64_t row, const std::byte* image) {
  std::byte* const to = Row(row);
  std::memcpy(to, image, layout_.value_bytes);
  std::memcpy(to + layout_.state_at, image + layout_.value_bytes, layout_.state_bytes);
}

}  // namespace halograph

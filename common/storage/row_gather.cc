#include "common/storage/row_gather.h"

#include <algorithm>
#include <cstring>

#include "common/base/prefetch.h"

namespace halograph {
namespace {

// How many rows ahead cache lines are asked for: enough to cover a memory access at the pace of
// copying rows of some hundred bytes, few enough not to exceed the outstanding loads of a core.
constexpr size_t kPrefetchRows = 6;
constexpr size_t kCacheLineBytes = 64;
// Of longer rows only the head is asked for: the hardware follows the stream from there.
constexpr size_t kPrefetchBytes = 4096;

inline void PrefetchRow(const std::byte* row, size_t bytes) {
  for (size_t offset = 0; offset < bytes; offset += kCacheLineBytes) {
    PrefetchToRead(row + offset);
  }
  PrefetchToRead(row + bytes - 1);  // a row that is not aligned touches one line more
}

// kRowBytes: the row's size if known when compiled (copied in registers; rows lie side by side),
// else 0. place(i): the destination row of the i-th id.
template <size_t kRowBytes, typename Place>
void Gather(const std::byte* base, size_t dynamic_row_bytes, size_t dynamic_stride,
            int64_t first_row, std::span<const int64_t> ids, std::byte* destination, Place place) {
  const size_t stride = kRowBytes > 0 ? kRowBytes : dynamic_stride;
  const size_t row_bytes = kRowBytes > 0 ? kRowBytes : dynamic_row_bytes;
  const size_t prefetch_bytes = std::min(row_bytes, kPrefetchBytes);
  const auto row = [&](size_t i) {
    return base + static_cast<size_t>(ids[i] - first_row) * stride;
  };
  const size_t count = ids.size();
  for (size_t i = 0; i < std::min(kPrefetchRows, count); ++i) PrefetchRow(row(i), prefetch_bytes);
  for (size_t i = 0; i < count; ++i) {
    if (i + kPrefetchRows < count) PrefetchRow(row(i + kPrefetchRows), prefetch_bytes);
    std::memcpy(destination + place(i) * row_bytes, row(i), row_bytes);
  }
}

template <typename Place>
void Dispatch(std::span<const std::byte> rows, size_t row_bytes, int64_t first_row,
              std::span<const int64_t> ids, std::byte* destination, Place place) {
  switch (row_bytes) {
    case 0:
      return;
    case 1:
      return Gather<1>(rows.data(), row_bytes, row_bytes, first_row, ids, destination, place);
    case 4:
      return Gather<4>(rows.data(), row_bytes, row_bytes, first_row, ids, destination, place);
    case 8:
      return Gather<8>(rows.data(), row_bytes, row_bytes, first_row, ids, destination, place);
    default:
      return Gather<0>(rows.data(), row_bytes, row_bytes, first_row, ids, destination, place);
  }
}

}  // namespace

void GatherRows(std::span<const std::byte> rows, size_t row_bytes, int64_t first_row,
                std::span<const int64_t> ids, std::byte* destination) {
  Dispatch(rows, row_bytes, first_row, ids, destination, [](size_t i) { return i; });
}

void GatherRowsTo(std::span<const std::byte> rows, size_t row_bytes, int64_t first_row,
                  std::span<const int64_t> ids, std::span<const int64_t> positions,
                  std::byte* destination) {
  Dispatch(rows, row_bytes, first_row, ids, destination,
           [positions](size_t i) { return static_cast<size_t>(positions[i]); });
}

void GatherStridedRows(const std::byte* rows, size_t row_bytes, size_t stride,
                       std::span<const int64_t> ids, std::span<const int64_t> positions,
                       std::byte* destination) {
  if (positions.empty()) {
    return Gather<0>(rows, row_bytes, stride, 0, ids, destination, [](size_t i) { return i; });
  }
  Gather<0>(rows, row_bytes, stride, 0, ids, destination,
            [positions](size_t i) { return static_cast<size_t>(positions[i]); });
}

}  // namespace halograph

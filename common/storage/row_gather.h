// Gathering rows of a (mapped) matrix into a buffer: the one gather of the tree, used by the
// server's pull and the embedded store. Rows are prefetched ahead; out-of-order ids are fine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace halograph {

// Copies row ids[i] - first_row of `rows` (rows of row_bytes bytes each) to
// destination + i * row_bytes. Requires every id within range (callers validate) and
// a destination of ids.size() * row_bytes bytes. Thread-safe for disjoint destinations.
void GatherRows(std::span<const std::byte> rows, size_t row_bytes, int64_t first_row,
                std::span<const int64_t> ids, std::byte* destination);

// As GatherRows, but row ids[i] goes to row positions[i] of the destination: the local part of a
// pull whose rows come from several owners. Requires ids.size() == positions.size().
void GatherRowsTo(std::span<const std::byte> rows, size_t row_bytes, int64_t first_row,
                  std::span<const int64_t> ids, std::span<const int64_t> positions,
                  std::byte* destination);

// As GatherRowsTo (as GatherRows if `positions` is empty) of rows that lie `stride` bytes apart.
// Requires row_bytes > 0.
void GatherStridedRows(const std::byte* rows, size_t row_bytes, size_t stride,
                       std::span<const int64_t> ids, std::span<const int64_t> positions,
                       std::byte* destination);

}  // namespace halograph

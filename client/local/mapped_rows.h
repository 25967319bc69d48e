// Rows out of mapped parts: the local half of every pull.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "client/local/mapped_graph.h"
#include "common/graph/tensor_ref.h"

namespace halograph {

// Copies row ids[i] of `tensor` to row positions[i] of the destination, or to row i if `positions`
// is empty, on the graph's threads beside the caller's. Requires the part of every id to be mapped.
// Once `stopped` is set the rest is left out. Throws std::bad_alloc.
void GatherMappedRows(const MappedGraph& graph, const ResolvedTensor& tensor,
                      std::span<const int64_t> ids, std::span<const int64_t> positions,
                      std::byte* destination, const std::atomic<bool>& stopped);

}  // namespace halograph

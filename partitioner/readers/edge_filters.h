// Edge options (reverse edges, self-loops, duplicates) as wrappers around edge sources, and
// their application to a whole data set.
#pragma once

#include <memory>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/reader.h"

namespace halograph {

// Edge i becomes edges 2i, as given, and 2i + 1, reversed. A self-loop, which is its own reverse,
// becomes edge 2i alone, unless `reverse_loops`.
[[nodiscard]] std::shared_ptr<const EdgeSource> WithReverse(std::shared_ptr<const EdgeSource> edges,
                                                            bool reverse_loops = false);
// Edge i becomes edge i reversed.
[[nodiscard]] std::shared_ptr<const EdgeSource> Reversed(std::shared_ptr<const EdgeSource> edges);
// Leaves out edges whose ends are one node; the others keep their ids.
[[nodiscard]] std::shared_ptr<const EdgeSource> WithoutSelfLoops(
    std::shared_ptr<const EdgeSource> edges);

// Drops self-loops (of relations within one type), then adds reverse edges, also to relations that
// are `symmetric`; a reader refuses these together with `undirected`. Duplicates are not
// dropped here: see ReadOptions. InvalidArgument if a relation to be added is there already.
[[nodiscard]] Status ApplyEdgeOptions(const ReadOptions& options, Dataset* dataset);

}  // namespace halograph

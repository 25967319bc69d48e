// Which rank is about which seeds (DistDGLv2 section 5.6.1): the sorted seeds are cut into
// contiguous ranges of equal size, and each range goes to the rank whose partition overlaps it
// most. Every rank computes the same answer alone. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/partition_book.h"

namespace halograph {

// The partition that a rank belongs to: floor(rank * parts / world_size).
[[nodiscard]] int PartOfRank(int rank, int num_parts, int world_size);

// Per rank its positions in the sorted seeds. The ranges are disjoint, cover all seeds, and their
// sizes differ by at most one.
struct SeedShards {
  std::vector<IdRange> of_rank;

  // Steps that every rank runs for one pass in batches of `batch_size`: as many as the largest
  // shard needs. A smaller shard's last batch may be empty.
  [[nodiscard]] int64_t Steps(int64_t batch_size) const;
  // Positions of a rank's batch `step`, relative to the start of its shard; may be empty.
  [[nodiscard]] IdRange Batch(int rank, int64_t batch_size, int64_t step) const;
  // Seeds of batch `step` over all ranks: what gradients are divided by.
  [[nodiscard]] int64_t SeedsInStep(int64_t batch_size, int64_t step) const;
};

// `sorted_seeds`: ascending global ids, repeats allowed. `node_boundaries`: of their node type,
// parts + 1 (PartitionBook::NodeBoundaries). Pairs of range and rank are taken by descending
// overlap, ties by range, then rank. Requires world_size > 0.
[[nodiscard]] SeedShards SplitSeeds(std::span<const int64_t> sorted_seeds,
                                    std::span<const int64_t> node_boundaries, int world_size);

}  // namespace halograph

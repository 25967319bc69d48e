// Which rank is about which seeds (DistDGLv2 section 5.6.1): the sorted seeds are cut into
// contiguous ranges of equal size, and each range goes to the rank whose partition overlaps it
// most. Every rank computes the same answer alone. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/partition_book.h"

namespace halograph {

// Who reads.
struct RankOfWorld {
  int rank = 0;
  int world_size = 1;
};

// Per rank its positions in the sorted seeds. The ranges are disjoint, cover all seeds, and their
// sizes differ by at most one.
struct SeedShards {
  std::vector<IdRange> of_rank;

  // Rows of the rank that has most.
  [[nodiscard]] int64_t Largest() const;
  // Steps that every rank runs for one pass in batches of `batch_size`: as many as the largest
  // shard needs. A smaller shard's last batch may be empty.
  [[nodiscard]] int64_t Steps(int64_t batch_size) const;
  // Positions of a rank's batch `step`, relative to the start of its shard; may be empty.
  [[nodiscard]] IdRange Batch(int rank, int64_t batch_size, int64_t step) const;
  // Seeds of batch `step` over all ranks: what gradients are divided by.
  [[nodiscard]] int64_t SeedsInStep(int64_t batch_size, int64_t step) const;
};

// Splits the rows of a set whose rows are sorted by owner: `part_rows` has parts + 1 ascending
// boundaries, rows [part_rows[p], part_rows[p + 1]) are owned by part p. A task set is such a set
// once each part's rows are sorted by seed (GraphInfo::task_rows): so a rank knows which rows are
// its own before it has read any. Pairs of range and rank are taken by descending overlap, ties by
// range, then rank. Requires world_size > 0.
[[nodiscard]] SeedShards SplitRows(std::span<const int64_t> part_rows, int world_size);

// The rows of all parts that have some of `rows`: what must be read to have these sorted. Empty if
// `rows` is.
[[nodiscard]] IdRange WholeParts(std::span<const int64_t> part_rows, IdRange rows);

}  // namespace halograph

// What the line of an epoch on the terminal says of its figures beside the loss: what bounds it,
// what would help, and what the cache was good for. Knows no libtorch.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/output/epoch_figures.h"

namespace halograph {

// Of a rank, in bytes.
struct CacheRoom {
  int64_t memory = 0;  // that its cache has
  int64_t most = 0;    // that can be advised at all: what was free at the start, its share of it
};

// ", bound by gather (busy 78 %): waits for 10.0.0.2:7000 71 % of the epoch; --cache-memory 2GiB
// would save 60 % of the rows that it fetches". Each part only where it is known, and empty where
// nothing bounds the epoch. Requires figures after Finish.
//
// What would be saved is counted (Figure::kCacheRefetches) for the memory that keeps all rows. For
// twice the memory it is a lower bound: each further slot saves less than the one before it.
[[nodiscard]] std::string BoundText(const EpochFigures& figures, const CacheRoom& cache);

// ", cache had 83 % of 48210 remote rows (forecast 48150)"; empty where no remote row was read by
// way of a cache. `within`: of a part of an epoch, which is not what the forecast is of.
[[nodiscard]] std::string CacheText(const EpochFigures& figures, bool within);

}  // namespace halograph

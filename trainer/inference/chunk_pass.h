// A pass over nodes by chunks, with the threads and the memory that a session gives it.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/status.h"
#include "trainer/inference/chunk_feed.h"
#include "trainer/training/session.h"

namespace halograph {

// Of all chunks of a pass together.
struct ChunkMemory {
  int64_t bytes = 0;
  int64_t nodes = 0;  // of a chunk; 0: as many as `bytes` allow
};

// For a pass over so many nodes, of so many in-edges each on average.
[[nodiscard]] ChunkOptions ChunkOptionsOf(const Session& session, const ChunkMemory& memory,
                                          const ChunkCost& cost, double mean_in_degree,
                                          int64_t nodes);

// Goes through chunks until all are used, or one fails.
//   Cancelled  a stop signal came
//   else       as ChunkFeed::Next and `use`
[[nodiscard]] Status ForEachChunk(const Session& session, ChunkFeed& feed,
                                  const std::function<Status(Step& chunk)>& use);

}  // namespace halograph

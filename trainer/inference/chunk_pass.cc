#include "trainer/inference/chunk_pass.h"

#include <algorithm>

namespace halograph {

ChunkOptions ChunkOptionsOf(const Session& session, const ChunkMemory& memory,
                            const ChunkCost& cost, double mean_in_degree, int64_t nodes) {
  ChunkOptions chunk;
  chunk.cost = cost;
  chunk.threads = static_cast<size_t>(std::max(1, session.sampler.minibatches));
  chunk.ahead = std::min(static_cast<size_t>(session.options.prefetch), chunk.threads + 1);
  chunk.chunk_bytes = memory.bytes / static_cast<int64_t>(chunk.ahead + 1);
  chunk.nodes = memory.nodes > 0 ? memory.nodes
                                 : NodesOfChunk(cost, mean_in_degree, chunk.chunk_bytes, nodes);
  chunk.cancel = &session.cancel;
  chunk.stores = &session.stores;
  return chunk;
}

Status ForEachChunk(const Session& session, ChunkFeed& feed,
                    const std::function<Status(Step& chunk)>& use) {
  for (;;) {
    HG_RETURN_IF_ERROR(session.CheckStop());
    auto next = feed.Next();
    if (!next.ok()) HG_RETURN_IF_ERROR(session.CheckStop());
    HG_RETURN_IF_ERROR(next.status());
    if (!next->has_value()) return OkStatus();
    HG_RETURN_IF_ERROR(use(**next));
  }
}

}  // namespace halograph

#include "common/sampling/fused_split.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/sampling/fused_chunks.h"

namespace halograph {
namespace {

// Destinations [begin, begin + size) of one task.
struct Chunk {
  size_t task = 0;
  int64_t begin = 0;
  int64_t size = 0;
};

// Relations follow one another without a pause: their destinations are those of the layer's begin.
std::vector<Chunk> ChunksOf(std::span<const FusedLayerTask> tasks) {
  std::vector<Chunk> chunks;
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (tasks[t].draws.fanout == 0) continue;
    const int64_t each = ChunkDestinations(tasks[t].draws.fanout);
    for (int64_t begin = 0; begin < tasks[t].num_destinations; begin += each) {
      chunks.push_back({t, begin, std::min(each, tasks[t].num_destinations - begin)});
    }
  }
  return chunks;
}

FusedOutcome AddChunk(int64_t begin, const NeighborPicks& picks, FusedNodes* sources,
                      Block* block) {
  const int64_t before = std::ssize(block->indices);
  int64_t* const indptr = block->indptr.data() + begin;
  for (size_t i = 1; i < picks.offsets.size(); ++i) indptr[i] = before + picks.offsets[i];
  if (!sources->Compact(picks.sources, &block->indices)) {
    return {.kind = FusedOutcome::Kind::kUnknownSource, .id = sources->UnknownIn(picks.sources)};
  }
  if (sources->size <= std::numeric_limits<int32_t>::max()) return {};
  return {.kind = FusedOutcome::Kind::kListTooLong};
}

}  // namespace

bool PaysToSplit(std::span<const FusedLayerTask> tasks) {
  int64_t chunks = 0;
  for (const FusedLayerTask& task : tasks) {
    const int64_t each = ChunkDestinations(task.draws.fanout);
    if (task.draws.fanout != 0) chunks += (task.num_destinations + each - 1) / each;
  }
  return chunks > 1;
}

SplitOutcome SampleSplitLayer(std::span<const FusedLayerTask> tasks, ThreadPool* pool,
                              FusedWorkspace* workspace, std::span<Block> blocks) {
  std::vector<std::span<const int64_t>> destinations(tasks.size());
  for (size_t t = 0; t < tasks.size(); ++t) {
    const int64_t count = tasks[t].num_destinations;
    destinations[t] = workspace->nodes[tasks[t].destination_type].Settle(count);
    blocks[t].indices.clear();
    blocks[t].indptr.assign(static_cast<size_t>(count) + 1, 0);
  }
  const std::vector<Chunk> chunks = ChunksOf(tasks);
  const auto sample = [&](int64_t c, FusedRoom* room, NeighborPicks* picks) {
    const Chunk& chunk = chunks[static_cast<size_t>(c)];
    return SampleFusedSources(tasks[chunk.task].draws,
                              destinations[chunk.task].subspan(static_cast<size_t>(chunk.begin),
                                                               static_cast<size_t>(chunk.size)),
                              room, picks);
  };
  const auto take = [&](int64_t c, const NeighborPicks& picks) {
    const Chunk& chunk = chunks[static_cast<size_t>(c)];
    return AddChunk(chunk.begin, picks, &workspace->nodes[tasks[chunk.task].source_type],
                    &blocks[chunk.task]);
  };
  const ChunksOutcome result =
      OrderedChunks(pool, std::ssize(chunks), &workspace->room, &workspace->slots, sample, take);
  if (result.outcome.done()) return {};
  return {.outcome = result.outcome, .task = chunks[static_cast<size_t>(result.chunk)].task};
}

}  // namespace halograph

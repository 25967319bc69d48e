#include "common/sampling/kernel/split.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace halograph {
namespace {

constexpr int64_t kLeastChunks = 4;

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
    if (tasks[t].draws.rule().nothing()) continue;
    const int64_t each = ChunkDestinations(tasks[t].draws.rule().fanout);
    for (int64_t begin = 0; begin < tasks[t].num_destinations; begin += each) {
      chunks.push_back({t, begin, std::min(each, tasks[t].num_destinations - begin)});
    }
  }
  return chunks;
}

// The chunk's offsets, which count from its own begin, are there already.
template <typename IdT>
FusedOutcome AddChunk(const FusedLayerTask& task, const Chunk& chunk, std::vector<IdT>* ids,
                      FusedSources* drawn, FusedNodes* sources, Block* block) {
  const std::span<int64_t> ends =
      std::span(block->indptr)
          .subspan(static_cast<size_t>(chunk.begin) + 1, static_cast<size_t>(chunk.size));
  if (!task.excluded.empty()) {
    RemoveExcluded(task.excluded, DrawnEdges<IdT>{.first = chunk.begin,
                                                  .ends = ends,
                                                  .sources = ids,
                                                  .edge_ids = &drawn->edge_ids,
                                                  .weights = &drawn->weights});
  }
  const int64_t before = std::ssize(block->indices);
  for (int64_t& end : ends) end += before;
  block->edge_ids.insert(block->edge_ids.end(), drawn->edge_ids.begin(), drawn->edge_ids.end());
  block->weights.insert(block->weights.end(), drawn->weights.begin(), drawn->weights.end());
  const std::span<const IdT> all = *ids;
  if (!sources->Compact(all, &block->indices)) {
    return {.kind = FusedOutcome::Kind::kUnknownSource, .id = sources->UnknownIn(all)};
  }
  if (sources->size <= std::numeric_limits<int32_t>::max()) return {};
  return {.kind = FusedOutcome::Kind::kListTooLong};
}

}  // namespace

bool PaysToSplit(std::span<const FusedLayerTask> tasks) {
  int64_t chunks = 0;
  for (const FusedLayerTask& task : tasks) {
    const int64_t each = ChunkDestinations(task.draws.rule().fanout);
    if (!task.draws.rule().nothing()) chunks += (task.num_destinations + each - 1) / each;
  }
  return chunks >= kLeastChunks;
}

SplitOutcome SampleSplitLayer(std::span<const FusedLayerTask> tasks, ChunkCrew* crew,
                              FusedWorkspace* workspace, std::span<Block> blocks) {
  std::vector<std::span<const int64_t>> destinations(tasks.size());
  for (size_t t = 0; t < tasks.size(); ++t) {
    const int64_t count = tasks[t].num_destinations;
    destinations[t] = workspace->nodes[tasks[t].destination_type].Settle(count);
    blocks[t].indices.clear();
    blocks[t].edge_ids.clear();
    blocks[t].weights.clear();
    blocks[t].coefficients.clear();
    blocks[t].degrees.clear();
    blocks[t].indptr.assign(static_cast<size_t>(count) + 1, 0);
  }
  const std::vector<Chunk> chunks = ChunksOf(tasks);
  std::vector<FusedSources>& slots = workspace->slots;
  if (slots.size() < crew->slots()) slots.resize(crew->slots());
  const auto sample = [&](int64_t c, size_t slot, FusedRoom* room) {
    const Chunk& chunk = chunks[static_cast<size_t>(c)];
    return SampleFusedSources(tasks[chunk.task].draws,
                              destinations[chunk.task].subspan(static_cast<size_t>(chunk.begin),
                                                               static_cast<size_t>(chunk.size)),
                              room, blocks[chunk.task].indptr.data() + chunk.begin, &slots[slot]);
  };
  const auto take = [&](int64_t c, size_t slot) {
    const Chunk& chunk = chunks[static_cast<size_t>(c)];
    const FusedLayerTask& task = tasks[chunk.task];
    FusedSources* const drawn = &slots[slot];
    FusedNodes* const sources = &workspace->nodes[task.source_type];
    Block* const block = &blocks[chunk.task];
    return task.draws.topology->HasWideIds()
               ? AddChunk(task, chunk, &drawn->wide, drawn, sources, block)
               : AddChunk(task, chunk, &drawn->narrow, drawn, sources, block);
  };
  const ChunksOutcome result = crew->Run(std::ssize(chunks), sample, take);
  if (result.outcome.done()) return {};
  return {.outcome = result.outcome, .task = chunks[static_cast<size_t>(result.chunk)].task};
}

}  // namespace halograph

#include "partitioner/write/edge_bucketer.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/prefetch.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {
namespace {

// Loads that miss the cache are asked for this many edges ahead.
constexpr size_t kAhead = 32;

// The edges of one chunk. `source_ids` and `destination_ids`: global ids by input id.
template <typename SourceT, typename DestinationT>
Status BucketChunk(const EdgeChunk& chunk, const SourceT* source_ids,
                   const DestinationT* destination_ids, const BucketRanges& ranges,
                   BucketWriter<SourceT>* writer) {
  const size_t size = chunk.size();
  const int64_t* sources = chunk.sources.data();
  const int64_t* destinations = chunk.destinations.data();
  for (size_t i = 0; i < size; ++i) {
    const size_t ahead = std::min(i + kAhead, size - 1);
    PrefetchToRead(&source_ids[sources[ahead]]);
    PrefetchToRead(&destination_ids[destinations[ahead]]);
    const auto destination = static_cast<int64_t>(destination_ids[destinations[i]]);
    const size_t bucket = ranges.Find(destination);
    const auto row = static_cast<uint32_t>(destination - ranges.start(bucket));
    HG_RETURN_IF_ERROR(writer->Add(bucket, source_ids[sources[i]], row, chunk.ids[i]));
  }
  return OkStatus();
}

int64_t CountSelfLoops(const EdgeChunk& chunk) {
  int64_t loops = 0;
  for (size_t i = 0; i < chunk.size(); ++i) {
    loops += chunk.sources[i] == chunk.destinations[i] ? 1 : 0;
  }
  return loops;
}

template <typename SourceT, typename DestinationT>
Status BucketEdges(const InputRelation& input, bool one_type, const SourceT* source_ids,
                   const DestinationT* destination_ids, int64_t buffer_records, BucketStore* store,
                   RelationBuckets* buckets) {
  BucketWriter<SourceT> writer(store, buckets->first, buckets->edges, buffer_records);
  EdgeCounts& counts = buckets->counts;
  const int64_t most = input.edges->max_edges();
  int64_t streamed = 0;
  const auto visit = [&](const EdgeChunk& chunk) -> Status {
    streamed += static_cast<int64_t>(chunk.size());
    if (streamed > most) {
      return DataLoss(
          "{}: more edges than the {} of the first pass; the input changed during the run",
          input.triple(), most);
    }
    if (one_type) counts.self_loops += CountSelfLoops(chunk);
    return BucketChunk(chunk, source_ids, destination_ids, buckets->ranges, &writer);
  };
  HG_RETURN_IF_ERROR(ForEachEdges(input, fmt::format("bucketing {}", input.triple()), visit));
  HG_RETURN_IF_ERROR(writer.FlushAll());
  counts.self_loops_dropped = input.edges->DroppedLoops(streamed);
  counts.read = streamed + counts.self_loops_dropped;
  // Whether the input changed during the pass is seen as between two passes.
  return input.edges->Open().status();
}

}  // namespace

void EdgeCounts::Add(const EdgeCounts& other) {
  read += other.read;
  self_loops += other.self_loops;
  self_loops_dropped += other.self_loops_dropped;
  duplicates += other.duplicates;
  duplicates_dropped += other.duplicates_dropped;
}

StatusOr<RelationBuckets> BucketRelation(const WriteContext& context, int relation,
                                         const WritingBudget& budget, BucketStore* store) {
  const Dataset& dataset = context.dataset;
  const InputRelation& input = dataset.relations[static_cast<size_t>(relation)];
  const int source_type = dataset.NodeTypeIndex(input.source);
  const int destination_type = dataset.NodeTypeIndex(input.destination);
  const GlobalIdArray& destinations = context.numbering.GlobalIds(destination_type);
  RelationBuckets buckets;
  buckets.ranges =
      BucketRanges(context.numbering.boundaries()[static_cast<size_t>(destination_type)],
                   budget.BucketWidth(destinations.size(), input.edges->max_edges()));
  buckets.first = store->Add(buckets.ranges.size());
  buckets.edges.resize(buckets.ranges.size());
  const auto count = static_cast<int64_t>(buckets.ranges.size());
  HG_RETURN_IF_ERROR(context.numbering.GlobalIds(source_type).Visit([&](const auto* source_ids) {
    using SourceT = std::remove_cvref_t<decltype(*source_ids)>;
    const int64_t records = std::min(BufferRecords<SourceT>(count, budget.buffer_bytes),
                                     std::max(input.edges->max_edges(), kLeastBufferRecords));
    return destinations.Visit([&](const auto* destination_ids) {
      return BucketEdges(input, source_type == destination_type, source_ids, destination_ids,
                         records, store, &buckets);
    });
  }));
  return buckets;
}

}  // namespace halograph

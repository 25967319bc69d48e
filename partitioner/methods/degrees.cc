#include "partitioner/methods/degrees.h"

#include <algorithm>

#include "common/base/prefetch.h"
#include "partitioner/stream/ahead.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {

namespace {

void CountChunk(const UnionEdges& edges, SelfLoops self_loops, NodeDegree* degrees,
                EndCounter* counter) {
  const size_t size = edges.sources.size();
  for (size_t i = 0; i < size; ++i) {
    const int64_t u = edges.sources[i];
    const int64_t v = edges.destinations[i];
    if (u == v && self_loops == SelfLoops::kIgnored) {
      degrees[v].in += degrees[v].in < kMaxDegree ? 1 : 0;
      continue;
    }
    counter->AddSource(u);
    counter->AddDestination(v);
  }
}

}  // namespace

StatusOr<Degrees> CountDegrees(const Dataset& dataset, SelfLoops self_loops) {
  Degrees degrees;
  HG_ASSIGN_OR_RETURN(degrees.of,
                      NodeArray<NodeDegree>::Make(UnionNodes(dataset).count(), "degrees"));
  HG_ASSIGN_OR_RETURN(EndCounter counter, EndCounter::Make(&degrees.of));
  HG_RETURN_IF_ERROR(ForEachUnionEdges(dataset, "degrees", [&](const UnionEdges& edges) {
    CountChunk(edges, self_loops, degrees.of.data(), &counter);
    degrees.edges += static_cast<int64_t>(edges.sources.size());
    return OkStatus();
  }));
  counter.Finish();
  for (const NodeDegree& degree : degrees.of.span()) {
    degrees.volume += degree.total;
    degrees.connected += degree.total > 0 ? 1 : 0;
  }
  return degrees;
}

namespace {

void Increment(uint32_t* count, uint32_t by) { *count += *count < kMaxDegree ? by : 0; }

}  // namespace

StatusOr<EndCounter> EndCounter::Make(NodeArray<NodeDegree>* degrees) {
  EndCounter counter;
  counter.degrees_ = degrees;
  counter.ranges_.resize((static_cast<size_t>(degrees->size()) >> kRangeBits) + 1);
  const auto ranges = static_cast<int64_t>(counter.ranges_.size());
  HG_ASSIGN_OR_RETURN(counter.queues_,
                      NodeArray<uint32_t>::Make(ranges * kQueued, "queues of edge ends"));
  HG_ASSIGN_OR_RETURN(counter.waiting_,
                      NodeArray<uint32_t>::Make(ranges * kWaiting, "waiting edge ends"));
  return counter;
}

int64_t EndCounter::Bytes(int64_t nodes) {
  constexpr auto kRangeBytes =
      static_cast<int64_t>((kQueued + kWaiting) * sizeof(uint32_t) + sizeof(Range));
  return ((nodes >> kRangeBits) + 1) * kRangeBytes;
}

void EndCounter::Finish() {
  for (size_t range = 0; range < ranges_.size(); ++range) {
    Dequeue(range);
    CountRange(range);
  }
}

void EndCounter::Dequeue(size_t range) {
  Range& state = ranges_[range];
  if (state.waiting + state.queued > kWaiting) CountRange(range);
  std::copy_n(queues_.data() + range * kQueued, state.queued,
              waiting_.data() + range * kWaiting + state.waiting);
  state.waiting += state.queued;
  state.queued = 0;
}

void EndCounter::CountRange(size_t range) {
  NodeDegree* const degrees = degrees_->data() + (range << kRangeBits);
  const uint32_t* const ends = waiting_.data() + range * kWaiting;
  const size_t count = ranges_[range].waiting;
  for (size_t i = 0; i < count; ++i) {
    if (i + kFarAhead < count) PrefetchToWrite(degrees + (ends[i + kFarAhead] >> 1));
    NodeDegree& degree = degrees[ends[i] >> 1];
    Increment(&degree.in, ends[i] & 1);
    Increment(&degree.total, 1);
  }
  ranges_[range].waiting = 0;
}

}  // namespace halograph

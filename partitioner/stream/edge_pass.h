// One pass over the edges of a data set, or of one relation, in bounded chunks. Every partition
// method and the writer read edges through it. A thread of its own reads ahead while the caller
// computes. The caller gets the chunks on its own thread, in the order of the stream (relations
// one after the other, in the data set's order).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Chunks that wait at most, beside the one that is read and the one that is visited.
inline constexpr size_t kReadAhead = 4;
// Memory of one pass: (kReadAhead + 2) chunks of three int64 an edge.
inline constexpr int64_t kEdgePassBytes =
    static_cast<int64_t>((kReadAhead + 2) * kEdgeChunk * 3 * sizeof(int64_t));

// sources and destinations are union ids (UnionNodes); ids are the relation's original edge ids.
struct UnionEdges {
  int relation = 0;
  std::span<const int64_t> sources;
  std::span<const int64_t> destinations;
  std::span<const int64_t> ids;
};

// Valid during the call only. A status other than OK ends the pass and is returned.
using VisitUnionEdges = std::function<Status(const UnionEdges&)>;
using VisitEdges = std::function<Status(const EdgeChunk&)>;

// Every relation, as union ids. `phase` is what the progress line says ("degrees"): it shows the
// count, rate and time left. Returns what the cursors or `visit` reported:
//   OutOfRange  an id beyond its node count (file and position)
//   DataLoss    the input changed since the first pass (EdgeSource::Open)
[[nodiscard]] Status ForEachUnionEdges(const Dataset& dataset, const std::string& phase,
                                       const VisitUnionEdges& visit);

// As ForEachUnionEdges, for a pass after the first, which gave `edges` edges: a visit never sees
// more of them. DataLoss (CheckSameEdges) where the stream now has another number.
[[nodiscard]] Status RepeatUnionEdges(const Dataset& dataset, const std::string& phase,
                                      int64_t edges, const VisitUnionEdges& visit);

// One relation, with input ids.
[[nodiscard]] Status ForEachEdges(const InputRelation& relation, const std::string& phase,
                                  const VisitEdges& visit);

// Guards passes that must see the same edges: the first pass of a run counts, the others compare.
// DataLoss, naming both counts, where they differ (a file may be rewritten in place within the
// resolution of its time stamp).
[[nodiscard]] Status CheckSameEdges(const std::string& phase, int64_t first, int64_t now);
// The same DataLoss where as many edges came, but others.
[[nodiscard]] Status OtherEdges(const std::string& phase);

}  // namespace halograph

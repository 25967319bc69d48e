#include "common/sampling/kernel/column_workspace.h"

#include <algorithm>
#include <array>

#include "common/base/prefetch.h"
#include "common/sampling/kernel/outcome.h"
#include "common/sampling/kernel/rows.h"

namespace halograph {
namespace {

constexpr size_t kTogether = 64;  // destinations whose offsets are on their way from memory

const void* SourcesAt(const CscSegment& segment, int64_t position) {
  if (segment.indices32 != nullptr) return segment.indices32 + position;
  return segment.indices64 != nullptr ? segment.indices64 + position : nullptr;
}

int64_t EdgesHere(const RelationTopology& topology) {
  int64_t edges = 0;
  for (const CscSegment& segment : topology.segments()) {
    if (segment.present()) edges += segment.indptr[segment.nodes.size()];
  }
  return edges;
}

}  // namespace

StatusOr<int64_t> FindColumnRows(const ColumnEdges& edges, std::span<const int64_t> destinations,
                                 std::vector<ColumnRow>* rows) {
  const RelationTopology& topology = *edges.topology;
  rows->resize(destinations.size());
  std::array<const CscSegment*, kTogether> owners;
  int64_t all = 0;
  for (size_t begin = 0; begin < destinations.size(); begin += kTogether) {
    const auto some = destinations.subspan(begin, std::min(kTogether, destinations.size() - begin));
    for (size_t i = 0; i < some.size(); ++i) {
      if (!topology.Has(some[i])) {
        return InvalidArgument("{}: node {} is a destination in no part that is here",
                               edges.relation, some[i]);
      }
      owners[i] = &topology.Owner(some[i]);
      PrefetchToRead(owners[i]->indptr + (some[i] - owners[i]->nodes.begin));
    }
    for (size_t i = 0; i < some.size(); ++i) {
      const CscSegment& segment = *owners[i];
      const int64_t* const offsets = segment.indptr + (some[i] - segment.nodes.begin);
      if (!ValidOffsets(offsets, segment.indptr[segment.nodes.size()])) {
        return DamageOf({.kind = FusedOutcome::Kind::kDamagedOffsets, .id = some[i]},
                        edges.relation);
      }
      const int64_t degree = offsets[1] - offsets[0];
      (*rows)[begin + i] = {.sources = SourcesAt(segment, offsets[0]),
                            .degree = degree,
                            .first_edge = segment.first_edge + offsets[0]};
      all += degree;
    }
  }
  // So much work, and memory, cannot be asked for by a few bytes a destination.
  if (all > EdgesHere(topology)) {
    return InvalidArgument("{}: destinations repeat: they have more edges than there are here",
                           edges.relation);
  }
  return all;
}

}  // namespace halograph

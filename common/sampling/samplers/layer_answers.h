// What a layer asks of a source, and what is to be looked at in its answers before they are
// compacted: what all who make minibatches from answers share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/kernel/excluded_edges.h"
#include "common/sampling/kernel/nodes.h"
#include "common/sampling/request.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// What layer `layer` of a valid request asks of one relation, for `destinations`.
[[nodiscard]] LayerGroup AskOf(const SampleRequest& request, size_t layer,
                               const RelationRule& wanted, std::span<const int64_t> destinations);

// Internal: an answer that does not fit its question in length.
[[nodiscard]] Status CheckAnswers(const Schema& schema, std::span<const LayerGroup> groups,
                                  std::span<const NeighborPicks> answers);

// Internal: offsets of an answer of the right length that do not ascend from 0. For who follows
// them here.
[[nodiscard]] Status CheckOffsets(const Schema& schema, int relation, const NeighborPicks& picks);

// Internal: an answer about edges of `relation` that cannot be: of another length than asked, edges
// that do not follow one another, columns that there are not.
[[nodiscard]] Status CheckEdges(const Schema& schema, int relation, size_t destinations,
                                size_t columns, const ExtractWanted& wanted,
                                const ExtractedEdges& answer);

// Removes the excluded edges of `relation` from a checked answer, whose destinations are the first
// `count` of `list`. Internal: offsets that do not ascend, where they are followed here.
[[nodiscard]] Status LeaveOut(const Schema& schema, std::span<const ExcludedEdges> excluded,
                              int relation, const FusedNodes& list, int64_t count,
                              NeighborPicks* picks);

// Internal: a source answered a node that its type has not.
[[nodiscard]] Status UnknownNode(const Schema& schema, int relation, int64_t node);

}  // namespace halograph

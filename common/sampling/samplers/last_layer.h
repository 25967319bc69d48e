// The last layer of a minibatch, the largest by far, apart from the others: its answers stay as
// they came, so that its sources can be compacted elsewhere, on a device say. What comes out in the
// end is what MinibatchesInMaking makes of the whole request, bit for bit.
//
// In this order: a minibatch of the same request with the spec WithoutLast, the source's answers to
// AskLast, TakeLast, CompactLast.
//
// Functions throw std::bad_alloc, and share nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "common/sampling/samplers/minibatch_builder.h"

namespace halograph {

// Of each block of a last layer the sources as they were drawn, one an edge: global ids.
struct RawLayer {
  std::vector<std::vector<int64_t>> sources;
};

// Ids of one node type of a minibatch, and where the same in compacted form is to go.
struct IdsToCompact {
  int node_type = 0;
  // One behind the other. Those of the first list are unique, the others any ids of the type.
  std::vector<std::span<const int64_t>> lists;
  // As long as lists[1], lists[2], ...: the position of each id among the unique ones.
  std::vector<std::span<int32_t>> positions;
  // All ids in order of first appearance. Written last: lists[0] may lie in it.
  std::vector<int64_t>* unique = nullptr;
};
// Compacts the ids of several types. Thread-safe.
using CompactIds = std::function<Status(std::span<const IdsToCompact> types)>;

// By the maps of a workspace, on the calling thread. `workspaces` outlives it, and is of the
// minibatches' schema.
[[nodiscard]] CompactIds CompactByMap(BuilderWorkspaces* workspaces);

// Whether this is for `spec`: of draws whose answers are all that blocks are made of. Estimates
// need in-degrees too, of nodes that are known once the last layer is compacted.
[[nodiscard]] bool TakesLastApart(const SamplingSpec& spec);

// The layers of `spec`, of which the last asks for nothing.
[[nodiscard]] SamplingSpec WithoutLast(const SamplingSpec& spec);

// What the last layer of a valid request asks for. `minibatch`: of the layers before it. The groups
// point into its nodes.
[[nodiscard]] std::vector<LayerGroup> AskLast(const Schema& schema, const SampleRequest& request,
                                              const Minibatch& minibatch);

// Makes the last layer's blocks of the answers to AskLast, but for their indices. Edges that the
// request excludes are found by a map of `workspaces`. Errors as those of MinibatchesInMaking.
[[nodiscard]] StatusOr<RawLayer> TakeLast(const Schema& schema, const SampleRequest& request,
                                          std::span<const LayerGroup> groups,
                                          std::vector<NeighborPicks> picks,
                                          BuilderWorkspaces* workspaces, const WorkLimits& limits,
                                          Minibatch* minibatch);

// Makes the rest: the indices of its blocks, num_sources, nodes.
//   ResourceExhausted  a node list longer than 2^31 - 1
//   else               what `compact` returns
[[nodiscard]] Status CompactLast(const Schema& schema, const CompactIds& compact,
                                 const RawLayer& raw, Minibatch* minibatch);

}  // namespace halograph

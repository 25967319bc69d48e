// How likely a node is among the input nodes of a minibatch, without sampling: the vertex inclusion
// probability of SALIENT++ (arXiv 2305.03152, section 3). It ranks rows for a cache that cannot
// know the future, and forecasts what such a cache saves.
//
// A forecast: nodes are taken to be drawn independently of each other, so that sums come out a few
// percent too high. Weighted draws are taken for uniform ones.
#pragma once

#include <vector>

#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/sampling/request.h"

namespace halograph {

// Per node type, one number for each of its nodes.
using NodeChances = std::vector<std::vector<float>>;

// The chance that one in-edge out of `degree` is among those that a node draws, from 0 to 1.
// Requires degree > 0 and a valid rule.
[[nodiscard]] double DrawChance(int64_t degree, const DrawRule& rule);

// `seeds`: the chance of each node to be a seed, from 0 to 1. Returns the chance to be an input
// node: to be a seed, or to be drawn in a layer. Segments that are not present draw nothing.
// Requires a spec that fits the schema. One pass over the in-edges of a layer's relations for each
// layer; memory: 12 bytes a node. Pure.
[[nodiscard]] NodeChances InclusionChances(const Schema& schema, const Topology& topology,
                                           const SamplingSpec& spec, const NodeChances& seeds);

}  // namespace halograph

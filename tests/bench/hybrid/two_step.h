// Sampling as common libraries have it, in two steps, in the place of the project's own: the linker
// turns calls of the function named first into calls of these (--wrap, see CMakeLists.txt). What
// these do not know (typed graphs, weights, replacement) they leave to the project's own. How often
// they worked is printed to stderr when the program ends: "used: 12 minibatches".
#pragma once

#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/samplers/minibatch_builder.h"

namespace halograph {

// BuildMinibatches with its contract and its output, by way of COO and a concurrent hash map.
[[nodiscard]] Status TwoStepMinibatches(
    const Schema& schema, std::span<const SampleRequest> requests, TopologySource& source,
    BuilderWorkspaces* workspaces, std::span<Minibatch> minibatches,
    const WorkLimits& limits) __asm__("__wrap_" HALOGRAPH_BUILD_MINIBATCHES);

// SampleNeighbors with its contract and its output, by way of COO, for files without damage.
[[nodiscard]] FusedOutcome TwoStepNeighbors(
    const LayerDraws& draws, std::span<const int64_t> destinations, ThreadPool* pool,
    NeighborPicks* picks) __asm__("__wrap_" HALOGRAPH_SAMPLE_NEIGHBORS);

}  // namespace halograph

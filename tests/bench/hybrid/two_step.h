// Sampling as common libraries have it, in two steps, in the place of the project's own: the linker
// turns calls of the function named first into calls of these (--wrap, see CMakeLists.txt). What
// these do not know (typed graphs, weights, replacement) they leave to the project's own. How often
// they worked is printed to stderr when the program ends: "two-step: 12 minibatches".
#pragma once

#include "common/sampling/kernel.h"
#include "common/sampling/minibatch_builder.h"

namespace halograph {

// BuildMinibatch with its contract and its output, by way of COO and a concurrent hash map.
[[nodiscard]] StatusOr<Minibatch> TwoStepMinibatch(
    const Schema& schema, const SampleRequest& request, NeighborSource& source,
    BuilderWorkspaces* workspaces) __asm__("__wrap_" HALOGRAPH_BUILD_MINIBATCH);

// SampleNeighbors with its contract and its output, by way of COO, for files without damage.
[[nodiscard]] FusedOutcome TwoStepNeighbors(
    const LayerDraws& draws, std::span<const int64_t> destinations, ThreadPool* pool,
    NeighborPicks* picks) __asm__("__wrap_" HALOGRAPH_SAMPLE_NEIGHBORS);

}  // namespace halograph

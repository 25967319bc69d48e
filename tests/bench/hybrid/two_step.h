// Sampling as common libraries have it, in two steps, put in place of the project's own in programs
// that are else the same. Only for graphs of one node type and one relation; of others the
// project's own is called.
#pragma once

#include "common/sampling/minibatch_builder.h"

namespace halograph {

// BuildMinibatch with its contract and its output, by way of COO and a concurrent hash map. The
// linker puts it in its place (--wrap, see CMakeLists.txt). What it counts is printed when the
// program ends: "two-step: 12 minibatches".
[[nodiscard]] StatusOr<Minibatch> TwoStepMinibatch(
    const Schema& schema, const SampleRequest& request,
    NeighborSource& source) __asm__("__wrap_" HALOGRAPH_BUILD_MINIBATCH);

}  // namespace halograph

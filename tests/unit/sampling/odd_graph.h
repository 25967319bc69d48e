// Small graphs of what graphs can have at worst, for tests that try many: isolated nodes, degree 1,
// self-loops only, one source many times, and degrees far over any fanout.
#pragma once

#include "common/base/rng.h"
#include "tests/support/graph_fixture.h"

namespace halograph {

// One to three node types, up to four relations between any of them, one to five parts (some may
// own nothing), 1 to 60 nodes a type.
[[nodiscard]] TestGraphSpec OddGraph(CounterRng* rng);

}  // namespace halograph

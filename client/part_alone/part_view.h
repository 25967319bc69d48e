// A view of the stores of a whole graph as those of one part: task sets, and what the graph store
// says of them, have this part's rows only. All else is the stores that are viewed: nothing is
// cut, and rows can be pushed; but no tensor can be created, dropped or set back through a view.
#pragma once

#include "client/stores.h"

namespace halograph {

// Requires 0 <= part < parts of the graph, and info().task_rows of the whole graph.
[[nodiscard]] Stores MakePartView(const Stores& whole, int part);

}  // namespace halograph

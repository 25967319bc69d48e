// Views of stores of a whole graph as those of one part: task sets have this part's rows only. All
// else is asked of the stores that are viewed, so nothing is cut.
#pragma once

#include <memory>

#include "client/graph_store.h"
#include "client/kv_store.h"

namespace halograph {

// What is viewed must outlive the view. Requires 0 <= part < parts of the graph, and
// info().task_rows of the whole graph. Mutable tensors cannot be changed through a view.
[[nodiscard]] std::unique_ptr<GraphStore> MakePartView(GraphStore* whole, int part);
[[nodiscard]] std::unique_ptr<KVStore> MakePartView(KVStore* whole, int part);

}  // namespace halograph

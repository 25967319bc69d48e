// The embedded stores over all parts of a partition folder.
#pragma once

#include <filesystem>

#include "client/local/mapped_graph.h"

namespace halograph {

// `threads`: how many work on one call besides the caller. Errors as MapGraph.
[[nodiscard]] inline StatusOr<Stores> OpenLocalStores(const std::filesystem::path& graph,
                                                      VerifyLevel verify, int threads) {
  HG_ASSIGN_OR_RETURN(const auto mapped, MapGraph(graph, {.verify = verify, .threads = threads}));
  return MakeLocalStores(mapped);
}

}  // namespace halograph

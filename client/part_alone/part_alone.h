// Stores over one part alone (CATGNN, arXiv 2404.02300, sections 3.3 and 5.5): the part's own files
// and its halo (common/graph/halo.h), on one machine, asking nobody. They are the stores of
// own_part/, whose rest is the halo.
//
// In-edges of core nodes are known, and of the nodes 1 to H - 1 hops outside. A node beyond that
// has no in-edges here: what is sampled is cut there, and CallStats::cut_nodes counts it. So with
// H = number of layers minibatches of core seeds are those of the whole graph, bit for bit; with
// fewer hops they are those of the graph in which the nodes beyond have no in-edges.
#pragma once

#include <filesystem>
#include <memory>

#include "client/local/mapped_graph.h"
#include "client/stores.h"
#include "common/base/status.h"
#include "common/graph/halo.h"

namespace halograph {

// Immutable; thread-safe.
struct PartAlone {
  // Of one part. info.task_rows are of its rows only.
  std::shared_ptr<const MappedGraph> own;
  std::unique_ptr<Halo> halo;
};

// `graph`: the folder that holds part-XXXX; other parts need not be there. `verify`: of the part
// and its halo. `threads`: how many work on one call besides the caller.
// Errors as MapGraph and Halo::Open.
[[nodiscard]] StatusOr<std::shared_ptr<const PartAlone>> OpenPartAlone(
    const std::filesystem::path& graph, int part, VerifyLevel verify, int threads);

// Task sets have the part's own rows; no tensors that change. Errors of their own:
//   FailedPrecondition  draws by weight beyond the core: a halo has no tables for it; rows that are
//                       neither the part's nor in its halo: features of nodes beyond its hops,
//                       original ids of others' nodes, features of others' edges
//   DataLoss            offsets of the halo that its files cannot mean
[[nodiscard]] Stores MakePartAloneStores(const std::shared_ptr<const PartAlone>& part);

// What they ask for all that is not the part's own. Core nodes are none of their matter.
[[nodiscard]] std::unique_ptr<GraphStore> MakeHaloGraphStore(std::shared_ptr<const PartAlone> part);
[[nodiscard]] std::unique_ptr<RowStore> MakeHaloRowStore(std::shared_ptr<const PartAlone> part);

}  // namespace halograph

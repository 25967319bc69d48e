#include "partitioner/methods/metis/metis_call.h"

#include <array>
#include <mutex>

#include <metis.h>

#include "common/base/rng.h"
#include "partitioner/methods/metis/termination_guard.h"

namespace halograph {
namespace {

static_assert(sizeof(idx_t) == sizeof(int32_t), "built for METIS with 32-bit ids");

// srand() makes one of 0 and 1.
idx_t MetisSeed(uint64_t seed) { return static_cast<idx_t>(2 + (Mix(seed) >> 34)); }

}  // namespace

StatusOr<std::vector<int32_t>> CallMetis(const FoldedGraph& graph, const VertexWeights& weights,
                                         int parts, uint64_t seed,
                                         const MetisImbalance& imbalance) {
  static std::mutex metis_mutex;
  const std::lock_guard lock(metis_mutex);
  std::array<idx_t, METIS_NOPTIONS> options;
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = MetisSeed(seed);
  auto nodes = static_cast<idx_t>(graph.num_nodes());
  auto constraints = static_cast<idx_t>(weights.count());
  auto num_parts = static_cast<idx_t>(parts);
  std::vector<real_t> aims;
  for (const Constraint& constraint : weights.constraints) {
    aims.push_back(constraint.tolerance > kNodeTolerance ? imbalance.edges : imbalance.nodes);
  }
  std::vector<int32_t> owners(static_cast<size_t>(nodes));
  idx_t cut = 0;
  const TerminationGuard guard;
  // METIS takes pointers to mutable arrays but only reads them.
  const int result = METIS_PartGraphKway(
      &nodes, &constraints, const_cast<idx_t*>(graph.xadj.data()),
      reinterpret_cast<idx_t*>(const_cast<uint32_t*>(graph.neighbours.data())),
      const_cast<idx_t*>(weights.values.data()), nullptr,
      graph.weights.empty() ? nullptr : const_cast<idx_t*>(graph.weights.data()), &num_parts,
      nullptr, aims.data(), options.data(), &cut, owners.data());
  if (result == METIS_ERROR_MEMORY) {
    return ResourceExhausted(
        "metis: out of memory for {} nodes and {} neighbours; use --method stream-metis with "
        "--memory, or a machine with more memory",
        graph.num_nodes(), graph.num_arcs());
  }
  if (result != METIS_OK) {
    return Internal(
        "metis: failed with code {} on {} nodes, {} neighbours, {} parts; use "
        "--method stream-metis",
        result, graph.num_nodes(), graph.num_arcs(), parts);
  }
  return owners;
}

}  // namespace halograph

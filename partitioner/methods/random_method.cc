#include "partitioner/methods/random_method.h"

#include <utility>

#include "common/base/rng.h"

namespace halograph {

std::vector<uint16_t> DealOwners(int64_t count, int parts, uint64_t key) {
  std::vector<uint16_t> owners(static_cast<size_t>(count));
  for (size_t i = 0; i < owners.size(); ++i) {
    owners[i] = static_cast<uint16_t>(i % static_cast<size_t>(parts));
  }
  CounterRng rng(key);
  for (size_t i = owners.size(); i > 1; --i) {
    std::swap(owners[i - 1], owners[rng.NextBounded(i)]);
  }
  return owners;
}

MemoryPlan RandomMethod::PlanMemory(const GraphCounts& counts, const MethodOptions&) const {
  return {{{"dealing nodes", {{"owners", 2 * counts.num_nodes()}}}}};
}

StatusOr<Assignment> RandomMethod::Assign(const Dataset& dataset,
                                          const MethodOptions& options) const {
  HG_RETURN_IF_ERROR(CheckParts(dataset, options.parts));
  Assignment assignment;
  for (size_t type = 0; type < dataset.node_types.size(); ++type) {
    assignment.owners.push_back(
        DealOwners(dataset.node_types[type].count, options.parts, SubKey(Mix(options.seed), type)));
  }
  return assignment;
}

}  // namespace halograph

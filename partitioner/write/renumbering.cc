#include "partitioner/write/renumbering.h"

#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace halograph {

StatusOr<Renumbering> Renumbering::Create(const Dataset& dataset, Assignment assignment,
                                          int parts) {
  if (assignment.owners.size() != dataset.node_types.size()) {
    return Internal("renumber: owners for {} node types, the data set has {}",
                    assignment.owners.size(), dataset.node_types.size());
  }
  Renumbering result;
  result.num_parts_ = parts;
  for (size_t type = 0; type < assignment.owners.size(); ++type) {
    const std::vector<uint16_t>& owners = assignment.owners[type];
    const InputNodeType& input = dataset.node_types[type];
    if (static_cast<int64_t>(owners.size()) != input.count) {
      return Internal("renumber: {} owners for node type {}, which has {} nodes", owners.size(),
                      input.name, input.count);
    }
    std::vector<int64_t> boundaries(static_cast<size_t>(parts) + 1, 0);
    for (size_t id = 0; id < owners.size(); ++id) {
      if (owners[id] >= parts) {
        return Internal("renumber: node {} of type {} has owner {}, there are {} partitions", id,
                        input.name, owners[id], parts);
      }
      ++boundaries[owners[id] + size_t{1}];
    }
    for (size_t p = 1; p < boundaries.size(); ++p) boundaries[p] += boundaries[p - 1];
    std::vector<int64_t> next(boundaries.begin(), boundaries.end() - 1);
    HG_ASSIGN_OR_RETURN(
        GlobalIdArray global_ids,
        GlobalIdArray::Make(input.count, fmt::format("global ids of node type {}", input.name)));
    global_ids.Visit([&](auto* ids) {
      using Id = std::remove_reference_t<decltype(*ids)>;
      for (size_t id = 0; id < owners.size(); ++id) ids[id] = static_cast<Id>(next[owners[id]]++);
    });
    result.boundaries_.push_back(std::move(boundaries));
    result.global_ids_.push_back(std::move(global_ids));
  }
  result.owners_ = std::move(assignment.owners);
  return result;
}

}  // namespace halograph

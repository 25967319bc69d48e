#include "partitioner/methods/literature/task_classes.h"

#include "partitioner/methods/constraints.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {

StatusOr<TaskClasses> TaskClasses::Of(const Dataset& dataset, const BalanceOptions& balance) {
  TaskClasses classes;
  if (BalancedSets(GraphCounts::Of(dataset), balance) == 0) return classes;
  const UnionNodes nodes(dataset);
  HG_ASSIGN_OR_RETURN(classes.classes_,
                      NodeArray<uint8_t>::Make(nodes.count(), "task sets of nodes"));
  const auto add = [&](bool wanted, std::string_view set, uint8_t bit) {
    if (!wanted) return OkStatus();
    return ForEachTaskRow(dataset, nodes.offsets(), set,
                          [&](int64_t node) { classes.classes_[node] |= bit; });
  };
  HG_RETURN_IF_ERROR(add(balance.train, "train", 1));
  HG_RETURN_IF_ERROR(add(balance.valid, "valid", 2));
  HG_RETURN_IF_ERROR(add(balance.test, "test", 4));
  return classes;
}

}  // namespace halograph

#include "partitioner/methods/edge/task_classes.h"

#include "partitioner/methods/task_columns.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

// The set's bit; 0 if it is not to be balanced.
uint8_t Bit(const std::string& set, const BalanceOptions& balance) {
  if (set == "train") return balance.train ? 1 : 0;
  if (set == "valid") return balance.valid ? 2 : 0;
  if (set == "test") return balance.test ? 4 : 0;
  return 0;
}

}  // namespace

StatusOr<TaskClasses> TaskClasses::Of(const Dataset& dataset, const BalanceOptions& balance) {
  TaskClasses classes;
  const UnionNodes nodes(dataset);
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      const uint8_t bit = Bit(set.set, balance);
      if (bit == 0) continue;
      if (classes.classes_.size() == 0) {
        HG_ASSIGN_OR_RETURN(classes.classes_,
                            NodeArray<uint8_t>::Make(nodes.count(), "task sets of nodes"));
      }
      HG_ASSIGN_OR_RETURN(const TaskColumns columns, ResolveTaskColumns(dataset, set));
      const int64_t offset = nodes.offset(columns.owner_type());
      for (int64_t row = 0; row < columns.rows; ++row) {
        classes.classes_[offset + columns.OwnerId(row)] |= bit;
      }
    }
  }
  return classes;
}

}  // namespace halograph

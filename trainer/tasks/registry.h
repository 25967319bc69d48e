// The kinds of tasks that there are. Which one a graph's task is, its sets say. Knows no libtorch.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "client/kv_store.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/pipeline/seed_split.h"
#include "trainer/tasks/options.h"

namespace halograph {

class TrainingTask;  // task.h

struct TaskKind {
  std::string_view name;  // "node task"
  // OK if a task of the graph can be trained for as this kind; else InvalidArgument saying why not.
  Status (*fits)(const Schema& schema, const Task& task);
  // Adds the rows of the options that are this kind's alone.
  void (*add_rows)(TaskOptions& options, OptionTable& table);
  // Reads the rank's rows of all sets.
  StatusOr<std::unique_ptr<TrainingTask>> (*open)(KVStore& kv, const TaskOptions& options,
                                                  const std::string& name, RankOfWorld who);
};

[[nodiscard]] std::span<const TaskKind> TaskKinds();

// Opens the graph's task of that name, or the only one if `name` is empty, as the first kind that
// fits.
//   NotFound, InvalidArgument  as ChooseTask
//   InvalidArgument            no kind fits: each with its reason; or an option of another kind is
//                              not at its default: named
//   else                       as the kind's open
[[nodiscard]] StatusOr<std::unique_ptr<TrainingTask>> OpenTask(KVStore& kv,
                                                               const TaskOptions& options,
                                                               const std::string& name,
                                                               RankOfWorld who = {});

}  // namespace halograph

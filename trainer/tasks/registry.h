// The kinds of tasks that there are. Which one a graph's task is, its sets say. Knows no libtorch.
#pragma once

#include <memory>
#include <string>

#include "client/stores.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/options/task_options.h"
#include "trainer/seeds/seed_split.h"

namespace halograph {

class TrainingTask;  // task.h

// Opens the graph's task of that name, or the only one if `name` is empty, as the first kind that
// fits.
//   NotFound, InvalidArgument  as ChooseTask
//   InvalidArgument            no kind fits: each with its reason; or an option of another kind is
//                              not at its default: named
//   else                       as the kind's open
[[nodiscard]] StatusOr<std::unique_ptr<TrainingTask>> OpenTask(const Stores& stores,
                                                               const TaskOptions& options,
                                                               const std::string& name,
                                                               RankOfWorld who = {});

}  // namespace halograph

// What a run is told of its task: one member for each family of tasks. Knows no libtorch.
#pragma once

#include "trainer/tasks/node_options.h"

namespace halograph {

struct TaskOptions {
  NodeTaskOptions node = {};
};

}  // namespace halograph

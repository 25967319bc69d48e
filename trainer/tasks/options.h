// What the user tells the kinds of tasks: a struct for each family, with its defaults. Knows no
// libtorch.
#pragma once

#include "trainer/tasks/link_options.h"
#include "trainer/tasks/node_options.h"

namespace halograph {

struct TaskOptions {
  NodeTaskOptions node = {};
  LinkOptions link = {};
};

}  // namespace halograph

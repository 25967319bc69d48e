// What the user tells the kinds of tasks: a struct for each family, with its defaults. Knows no
// libtorch.
#pragma once

#include "trainer/options/link_options.h"
#include "trainer/options/node_options.h"

namespace halograph {

struct TaskOptions {
  NodeTaskOptions node = {};
  LinkOptions link = {};
};

}  // namespace halograph

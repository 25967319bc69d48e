// Inputs and options for tests of models.
#pragma once

#include <memory>
#include <vector>

#include "tests/support/random_block.h"
#include "trainer/models/model.h"

namespace halograph {

// One node type, one relation.
inline const Schema& PlainSchema() {
  static const Schema schema = {.graph_name = "plain",
                                .node_types = {{.name = "node", .count = 40, .features = {}}},
                                .relations = {{"node", "edge", "node", 100, {}}},
                                .tasks = {}};
  return schema;
}

// For RandomMinibatch: inputs of 4 columns, 3 outputs.
inline ModelShape SmallShape(int64_t layers = 2) {
  return {.schema = &PlainSchema(), .input_dims = {4}, .layers = layers, .output_dim = 3};
}

}  // namespace halograph

// A small run over a graph that can be learnt (learnable_graph.h).
#pragma once

#include <cstdint>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/learnable_graph.h"
#include "trainer/options/train_options.h"

namespace halograph {

// Its options, but for the model. The graph, of two parts, is written into `folder`; where it is
// not, the test has failed.
inline TrainOptions LearnableRun(const std::filesystem::path& folder, int64_t nodes,
                                 int64_t batch_size, int64_t epochs) {
  const auto graph = WriteTestGraph(LearnableGraph(nodes, 2), folder / "graph");
  EXPECT_TRUE(graph.ok()) << graph.status();
  TrainOptions options;
  if (graph.ok()) options.graph = graph->string();
  options.fanouts = {4, 3};
  options.batch_size = batch_size;
  options.epochs = epochs;
  options.learning_rate = 0.01;
  return options;
}

}  // namespace halograph

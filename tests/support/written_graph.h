// A test graph that all tests of a suite read.
#pragma once

#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/graph_fixture.h"
#include "tests/support/test_folder.h"

namespace halograph {

// Makes `folder` and writes the graph into it: its partition folder, or nothing after a failure,
// which is reported.
inline std::filesystem::path WriteGraphInto(std::unique_ptr<TestFolder>* folder,
                                            const TestGraphSpec& spec) {
  *folder = std::make_unique<TestFolder>();
  const auto graph = WriteTestGraph(spec, (*folder)->path() / "graph");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : std::filesystem::path();
}

}  // namespace halograph

#include "tests/conformance/conformance_fixture.h"

namespace halograph {

ConformanceFolder::ConformanceFolder(const TestGraphSpec& written) : spec(written) {
  const auto graph = WriteTestGraph(spec, folder.path() / "graph");
  EXPECT_TRUE(graph.ok()) << ToString(graph.status());
  if (graph.ok()) path = *graph;
}

const ConformanceFolder& ConformanceGraph() {
  static const ConformanceFolder graph(
      RandomGraph({.seed = 11, .parts = 4, .nodes = 3000, .mean_degree = 12, .feature_dim = 5}));
  return graph;
}

const ConformanceFolder& TypedConformanceGraph() {
  static const ConformanceFolder graph(
      RandomTypedGraph({.seed = 12, .parts = 4, .nodes = 600, .mean_degree = 6, .feature_dim = 3}));
  return graph;
}

}  // namespace halograph

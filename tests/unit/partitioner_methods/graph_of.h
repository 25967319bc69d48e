// Lists of neighbours for tests of what works on them.
#pragma once

#include <utility>

#include <gtest/gtest.h>

#include "partitioner/methods/lp_metis/disk_csr.h"
#include "partitioner/methods/metis/vertex_weights.h"
#include "tests/support/memory_dataset.h"

namespace halograph {

struct TestGraph {
  DiskCsr csr;
  VertexWeights weights;
};

inline TestGraph GraphOf(int64_t nodes, EdgePairs edges, const BalanceOptions& balance = {}) {
  DatasetBuilder builder;
  builder.Nodes("node", nodes).Edges("node", "edge", "node", std::move(edges));
  auto csr = DiskCsr::Build(builder.dataset(), {});
  EXPECT_TRUE(csr.ok()) << csr.status();
  FoldedGraph counts;
  counts.type_offsets = {0, nodes};
  counts.in_degrees = csr->TakeInDegrees();
  auto weights = BuildVertexWeights(builder.dataset(), counts, balance);
  EXPECT_TRUE(weights.ok()) << weights.status();
  return {std::move(csr).value(), std::move(weights).value()};
}

}  // namespace halograph

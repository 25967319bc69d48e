// The golden vectors of the sampling contract (tests/data/sampling/golden_v1.json, made by
// oracle.py beside it): every store, embedded or remote, must give these minibatches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "tests/support/graph_fixture.h"

namespace halograph {

struct GoldenMinibatch {
  struct Seeds {
    int type = 0;
    std::vector<int64_t> ids;
  };
  struct Exclusion {
    int relation = 0;
    std::vector<int64_t> sources;
    std::vector<int64_t> destinations;
  };

  std::string name;
  std::vector<Seeds> seeds;
  SamplingSpec spec;
  uint64_t batch_seed = 0;
  std::vector<Exclusion> exclude;
  bool edge_ids = false;
  bool weights = false;
  bool source_degrees = false;
  Minibatch expected;

  // Points into this object.
  [[nodiscard]] SampleRequest request() const;
};

struct GoldenSampling {
  Json raw;            // the whole file: keys, bounded, picks, ...
  TestGraphSpec spec;  // for WriteTestGraph
  std::vector<GoldenMinibatch> minibatches;
};

// Reads the file below the folder that the environment variable HALOGRAPH_TEST_DATA names (the
// tests of this project are run with it).
//   golden_v1.json             keys, draws, picks, and minibatches of uniform draws
//   golden_weighted_v1.json    its edges have the feature "w", and all minibatches are drawn by it
//   golden_edges_v1.json       the same: several seed types, edge ids, weights, edges left out
//   golden_labor_v1.json       the same graph without weights, drawn by LABOR
//   golden_layer_wise_v1.json  the same graph: column sums, draws and minibatches of them
//   golden_graph_wise_v1.json  the same graph: what subgraphs begin with
[[nodiscard]] StatusOr<GoldenSampling> LoadGoldenSampling(
    const std::string& name = "golden_v1.json");

// 16 hex digits.
[[nodiscard]] uint64_t FromHex(const Json& text);

}  // namespace halograph

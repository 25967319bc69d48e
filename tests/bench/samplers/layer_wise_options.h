// Layers of a layer-wise sampler on the benchmark's graph, on a command line.
#pragma once

#include <cstdint>

#include "common/program/options.h"
#include "tests/bench/sampling/rmat_csc_options.h"

namespace halograph {

struct LayerWiseBenchOptions {
  RmatCscOptions graph = {.log2_nodes = 20, .drawn = 9'000'000};
  int64_t batch = 1024;
  int64_t nodes = 1024;  // drawn a layer
  int layers = 3;
  int rounds = 7;
};

// `options` holds the defaults and must outlive the table.
inline void AddLayerWiseBenchOptions(OptionTable& rows, LayerWiseBenchOptions* options) {
  AddRmatCscOptions(rows, &options->graph);
  rows.Add("batch", &options->batch, "seeds").AtLeast(1);
  rows.Add("nodes", &options->nodes, "drawn a layer").AtLeast(1);
  rows.Add("layers", &options->layers, "from the seeds outward").Range(1, 10);
  rows.Add("rounds", &options->rounds, "of which medians are taken").Range(1, 1000);
}

}  // namespace halograph

// The benchmark's graph on a command line: one home for the options of every program that makes it.
#pragma once

#include "common/program/options.h"
#include "tests/bench/sampling/rmat_csc.h"

namespace halograph {

// `options` holds the defaults and must outlive the table.
inline void AddRmatCscOptions(OptionTable& rows, RmatCscOptions* options) {
  rows.Add("log2-nodes", &options->log2_nodes, "log2 of the number of nodes").Range(1, 31);
  rows.Add("drawn", &options->drawn, "edges drawn before symmetrising").Range(1, int64_t{1} << 33);
  rows.Add("seed", &options->seed, "of the graph and of the minibatches");
}

}  // namespace halograph

// The benchmark's graph on a command line: one home for the options of every program that makes it.
#pragma once

#include <CLI/CLI.hpp>

#include "tests/bench/sampling/rmat_csc.h"

namespace halograph {

// `options` holds the defaults and must outlive the parsing.
inline void AddRmatCscOptions(CLI::App* app, RmatCscOptions* options) {
  app->add_option("--log2-nodes", options->log2_nodes)
      ->check(CLI::Range(1, 31))
      ->capture_default_str();
  app->add_option("--drawn", options->drawn, "edges drawn before symmetrising")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 33))
      ->capture_default_str();
  app->add_option("--seed", options->seed, "of the graph and of the minibatches")
      ->capture_default_str();
}

}  // namespace halograph

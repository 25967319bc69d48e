// Checks that a partition folder holds the graph that it was made from. Every edge, feature row,
// task row and id is compared with the input under original ids. It uses none of the code that
// wrote the folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace halograph {

struct VerifyOptions {
  // Folder for temporary files, as ReadOptions::scratch; empty: the system's.
  std::filesystem::path scratch;
  size_t max_differences = 10;  // that the report puts in words
};

struct VerifyReport {
  // What was compared.
  int64_t nodes = 0;
  int64_t edges = 0;
  int64_t feature_rows = 0;
  int64_t task_rows = 0;
  // What was found wrong: all of it counted, the first of it in words.
  int64_t num_differences = 0;
  std::vector<std::string> differences;

  [[nodiscard]] bool ok() const { return num_differences == 0; }
};

// Reads the input with the options that GRAPH/manifest.json holds under "read", gives its features
// the dtypes of "feature_dtype" where that is there, and reads every part with all checksums. A
// difference is no error: see the report. Compared are
//   - names, counts and dtypes of node types, relations, features and task sets; task metadata;
//   - nodes: every original id once; parts that were divided: sub-part by sub-part and, in each,
//     batch cluster by batch cluster, and in each in the order of the input, unless the order of
//     nodes is another;
//   - edges of each relation: id, source and destination of every edge that the options keep, each
//     once; in-edges of a node in ascending order of original edge id;
//   - halo nodes: exactly the sources that other parts own;
//   - halos for training alone, where there are some: all that their hops call for, as its owners
//     have it;
//   - feature rows: byte by byte; task sets: the rows that a part owns, in input order.
// If the first do not agree, the rest is not compared.
// Memory: 16 bytes a node, and of one relation at a time 8 bytes an edge (16 beyond 2^32 nodes of a
// type) and about 40 a dropped duplicate. Errors are those of OpenDataset and PartitionSet::Open,
// and DataLoss for a manifest without read options, or with sub-parts that cannot be.
[[nodiscard]] StatusOr<VerifyReport> Verify(const std::filesystem::path& input,
                                            const std::filesystem::path& graph_folder,
                                            const VerifyOptions& options);

}  // namespace halograph

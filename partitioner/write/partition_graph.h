// From an input folder to a partition folder: open, assign, renumber, write, rename into place.
// What `halograph-partition run` does, as a function.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/readers/reader.h"
#include "partitioner/write/graph_writer.h"

namespace halograph {

struct PartitionRun {
  std::filesystem::path input;
  std::filesystem::path output;
  ReadOptions read;  // scratch is chosen by PartitionGraph
  std::string method = "metis";
  MethodOptions options;  // drop_duplicates is taken from read.duplicates
  bool allow_nan = false;
  std::vector<std::string> sampling_weights;  // edge features that sampling can go by
  bool replace = false;                       // of an existing output, once the new one is complete
};

struct PartitionSummary {
  WrittenGraph graph;
  double open_seconds = 0;  // reading descriptions, converting text
  double assign_seconds = 0;
  double write_seconds = 0;
};

// The output appears whole or not at all, also if the process is killed: it is written beside the
// target, temporary files included. Not thread-safe for one output.
//   AlreadyExists  output exists and `replace` is false
// and whatever reading, the method and writing report.
[[nodiscard]] StatusOr<PartitionSummary> PartitionGraph(const PartitionRun& run);

}  // namespace halograph

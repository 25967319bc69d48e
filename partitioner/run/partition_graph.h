// The whole run, from an input folder to a partition folder: open, assign, renumber, write,
// rename into place. This is what `halograph-partition run` does, as a function.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/graph/halo.h"
#include "partitioner/methods/method.h"
#include "partitioner/readers/reader.h"
#include "partitioner/stream/memory_plan.h"
#include "partitioner/write/feature_dtype.h"
#include "partitioner/write/graph_writer.h"

namespace halograph {

struct PartitionRun {
  std::filesystem::path input;
  std::filesystem::path output;
  ReadOptions read;  // scratch is chosen by PartitionGraph
  std::string method = "auto";
  // Used instead of the method of that name, which is then only what the manifest says.
  std::shared_ptr<const PartitionMethod> custom_method = nullptr;
  // Asked for the number of partitions once the input is open, in place of options.parts.
  std::function<StatusOr<int>(const Dataset&)> choose_parts = nullptr;
  // drop_duplicates is taken from read.duplicates; memory and scratch are set by PartitionGraph
  MethodOptions options;
  // Sub-parts of each part, by which nodes are numbered first (AddSubParts); 1: none.
  int trainers_per_part = 1;
  // Clusters of each part, by which nodes are numbered then (AddBatchClusters); 0: none.
  int batch_clusters = 0;
  bool allow_nan = false;
  FeatureDType feature_dtype = FeatureDType::kInput;  // what float features are stored and sent in
  std::vector<std::string> sampling_weights;          // edge features that sampling can go by
  // Of each part's halo, by which it can be trained on alone (AddHalos); 0: none is made.
  int halo_hops = 0;
  // Of an existing partition folder, once the new one is complete.
  bool replace = false;
  // Anonymous memory that the whole run may hold; what it will hold is computed from the counts,
  // logged, and refused before anything is computed or written if it is more.
  int64_t memory = AvailableMemory();
};

struct PartitionSummary {
  WrittenGraph graph;
  std::vector<HaloManifest> halos;  // by part, where they were asked for
  double open_seconds = 0;          // reading descriptions, converting text
  double assign_seconds = 0;
  double write_seconds = 0;
};

// The output appears whole or not at all, also if the process is killed: it is written beside the
// target, temporary files included. Not thread-safe for one output.
// What the tasks hold is logged, and warned of (task_report.h).
//   AlreadyExists      output exists, and `replace` is false or it is no partition folder
//   InvalidArgument    `replace`, and the input lies in the output; options.order that the method
//                      cannot give (CheckOrder); sub-parts of a method that has none
//                      (MethodOfSubParts), or more than nodes of a part; clusters of several node
//                      types, or fewer than sub-parts (CheckBatchClusters)
//   OutOfRange         a label that is no class of its task (CheckLabels)
//   ResourceExhausted  the run would hold more than `memory` (CheckMemory), or the disk has no room
// and whatever reading, the method, writing and AddHalos report.
[[nodiscard]] StatusOr<PartitionSummary> PartitionGraph(const PartitionRun& run);

}  // namespace halograph

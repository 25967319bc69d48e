// Uses an existing assignment (--owners): the partition of every node, read from files.
#pragma once

#include <filesystem>
#include <optional>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/graph_counts.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

struct LoadedOwners {
  // Its report: {"nodes": [per partition]}, and "algorithm" where partition_meta.json names one.
  Assignment assignment;
  int parts = 0;
};

// `path` is a file, for a graph of one node type, or a folder with one file a node type, named
// after it: "<type>.npy" or "<type>.txt" (also with the name percent-encoded). A type without
// nodes needs none.
//   .npy  integers of any dtype and byte order, shape [nodes] or [nodes, 1]
//   .txt  one integer a line, plain or gzip; blank lines at the end only. What DGL's partitioning
//         writes; its partition_meta.json beside them is read if it is there
// Entry i (from 0; line i + 1) is the partition of the node with input id i. Where an edge list
// with gaps in its ids was read without --num-nodes, nodes are numbered in the order of their
// original ids: entry i is the node with the i-th smallest id that occurs in the list.
//
// `parts`: 0 takes "num_parts" of partition_meta.json, else the largest partition found + 1. A
// partition without nodes is allowed, with a warning.
//
//   NotFound         no such path; a node type without a file
//   InvalidArgument  neither .npy nor .txt; one file for several types, or two for one; not
//                    integers; more than one column; another number of entries than nodes (file,
//                    found, expected); a partition below 0 or not below the number of partitions
//                    (file and position or line); `parts` unlike num_parts, out of range, or more
//                    than there are nodes; a partition_meta.json without num_parts
//   DataLoss         a damaged file
// Memory: the answer, 2 bytes a node; files are mapped or read line by line.
[[nodiscard]] StatusOr<LoadedOwners> LoadOwners(const std::filesystem::path& path,
                                                const Dataset& dataset, int parts);

[[nodiscard]] MemoryPlan PlanLoadOwners(const GraphCounts& counts);

// An existing assignment as a method, for --owners FILE. It is not in the list of methods, because
// it needs a file. Thread-safe; for one data set. Errors are those of LoadOwners.
class OwnersMethod : public PartitionMethod {
 public:
  explicit OwnersMethod(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] std::string_view name() const override { return "owners"; }
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  // The number of partitions that the files say. What was read for it is kept until Assign.
  [[nodiscard]] StatusOr<int> Parts(const Dataset& dataset) const;
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;

 private:
  const std::filesystem::path path_;
  mutable Mutex mutex_;
  mutable std::optional<LoadedOwners> loaded_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph

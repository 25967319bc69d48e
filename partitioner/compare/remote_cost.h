// What an assignment costs a trainer: how many nodes of a minibatch have their features in
// another partition. Found by sampling, before anything is partitioned on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition.h"
#include "partitioner/methods/method.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

struct SamplingPlan {
  std::vector<int32_t> fanouts = {15, 10};  // from the seeds outward, of every relation
  int64_t batch_size = 1000;
  int batches = 20;  // a partition, at most
  uint64_t seed = 0;
  int64_t cache_memory = 0;  // bytes of remote rows that a trainer keeps; 0: it keeps none

  // InvalidArgument: no fanouts, a batch size or number of batches below 1. OutOfRange: a fanout.
  [[nodiscard]] Status Validate() const;
};

// Means over the minibatches of all partitions.
struct RemoteCost {
  int64_t batches = 0;
  double input_nodes = 0;         // nodes whose features a minibatch needs
  double remote_nodes = 0;        // of them, those that another partition owns
  double remote_bytes = 0;        // their features
  double worst_remote_bytes = 0;  // the mean of the partition that has the most
  // Of a whole epoch, one trainer a partition: the same means times all minibatches.
  int64_t epoch_batches = 0;
  double epoch_remote_bytes = 0;
  // Of these, what is left where each trainer keeps cache_memory of the rows that it most likely
  // reads (RemoteShareLeft). Without a cache: all.
  double epoch_bytes_with_cache = 0;
};

// The topology of a data set as one partition whose global ids are the input ids. Immutable;
// thread-safe. The folder must stay as long as the object.
class WholeTopology {
 public:
  // Writes a partition folder without features into `folder`, which must be empty.
  [[nodiscard]] static StatusOr<WholeTopology> Create(const Dataset& dataset,
                                                      const std::filesystem::path& folder,
                                                      int64_t memory);
  [[nodiscard]] const PartitionSet& set() const { return *set_; }

 private:
  std::unique_ptr<PartitionSet> set_;
};

// Seeds are the nodes that rows of the largest training set belong to, in a random order, each in
// minibatches of its owner's partition; all nodes of the largest type where no task has a training
// set. The same plan samples the same neighbours of a seed for any assignment.
// Errors are those of SamplingPlan::Validate and of a task set that makes no sense
// (ResolveTaskColumns).
[[nodiscard]] StatusOr<RemoteCost> MeasureRemoteCost(const WholeTopology& topology,
                                                     const Dataset& dataset,
                                                     const Assignment& assignment, int parts,
                                                     const SamplingPlan& plan);

}  // namespace halograph

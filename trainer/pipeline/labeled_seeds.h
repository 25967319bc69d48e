// The seeds and class labels of a node classification task, as every rank reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/kv_store.h"
#include "common/base/status.h"
#include "common/graph/schema.h"

namespace halograph {

// Sorted by seed, rows of equal seeds in the order read; labels[i] belongs to seeds[i].
struct LabeledSeeds {
  std::vector<int64_t> seeds;  // global ids
  std::vector<int64_t> labels;
};

struct ClassificationTask {
  std::string name;
  int node_type = 0;  // index in the schema
  int64_t num_classes = 0;
  LabeledSeeds train;
  LabeledSeeds valid;  // empty where the task has no such set
  LabeledSeeds test;
};

// The task of that name, or the only one if `name` is empty, with its index in schema.tasks.
//   NotFound         no task at all, or none of that name: those that exist are named
//   InvalidArgument  no name given and several to choose from: named
[[nodiscard]] StatusOr<int> ChooseTask(const Schema& schema, const std::string& name);

// Whether the sets of `task` are nodes of one type with integer labels, one a node, as far as the
// schema tells. InvalidArgument saying what they are instead; FailedPrecondition: no sets.
[[nodiscard]] Status CheckClassification(const Schema& schema, const Task& task);

// Reads seeds and labels of every set. The number of classes is the task's `num_classes`, else
// one more than the largest label.
//   InvalidArgument     seeds are edges or tuples, of several node types, or labels are no integers
//   FailedPrecondition  no train set or no seed in it, or a set without labels
//   OutOfRange          a label below 0 or not below num_classes: the seed's original id, the set
//                       and the label are named
//   else                what the store returned
[[nodiscard]] StatusOr<ClassificationTask> ReadClassificationTask(KVStore& kv,
                                                                  const std::string& name);

}  // namespace halograph

// The seeds and class labels of a node classification task, as a rank reads its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/kv_store.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/pipeline/seed_split.h"

namespace halograph {

// The label of a seed that has none. In a partition folder it is -1, or NaN among floats.
inline constexpr int64_t kUnlabelled = -1;

// The shard of a set that is a rank's (SplitRows): of all ranks' rows sorted by seed, rows of equal
// seeds in the order stored, those from `first_row` on. labels[i] belongs to seeds[i].
struct LabeledSeeds {
  std::vector<int64_t> seeds;      // global ids
  std::vector<int64_t> labels;     // classes, or kUnlabelled
  std::vector<int64_t> part_rows;  // of all ranks (GraphInfo::task_rows); empty: no such set
  int64_t first_row = 0;
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

// Whether the sets of `task` are nodes of one type, as far as the schema tells. InvalidArgument
// saying what they are instead; FailedPrecondition: no sets.
[[nodiscard]] Status CheckClassification(const Schema& schema, const Task& task);

// Reads the rank's seeds and labels of every set: only rows of the parts that have some of them.
// The number of classes is the task's `num_classes`; else one more than the largest label of all
// ranks, for which every rank looks at all rows once, a part at a time.
//   InvalidArgument     seeds are edges or tuples, or of several node types; several labels a seed;
//                       labels that are no whole numbers, or floats beyond 2^24
//   FailedPrecondition  no train set or no seed in it, or a set without labels
//   OutOfRange          a label below -1 or not below num_classes: the seed's original id, the set
//                       and the label are named
//   else                what the store returned
[[nodiscard]] StatusOr<ClassificationTask> ReadClassificationTask(KVStore& kv,
                                                                  const std::string& name,
                                                                  RankOfWorld who = {});

}  // namespace halograph

// The seeds and labels of a task about nodes, as a rank reads its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/stores.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/seeds/node_labels.h"
#include "trainer/seeds/seed_source.h"
#include "trainer/seeds/seed_split.h"

namespace halograph {

// The shard of a set that is a rank's (SplitRows): of all ranks' rows sorted by the part that owns
// the seed, its node type, then the seed, rows of equal seeds in the order stored, those from
// `first_row` on. Label row i belongs to seeds[i].
struct LabeledSeeds {
  std::vector<int64_t> seeds;      // global ids
  std::vector<int32_t> types;      // node type of each; empty: all of NodeTaskRows::node_types[0]
  LabelRows labels;                // as LabelRule says
  std::vector<int64_t> part_rows;  // of all ranks (GraphInfo::task_rows); empty: no such set
  int64_t first_row = 0;
  // Seeds that stand in the set more than once, with labels that differ. Each is counted by one
  // rank: the first of the sorted rows that shows it is of its shard.
  int64_t contradicted = 0;
};

struct NodeTaskRows {
  std::string name;
  std::vector<int> node_types;  // of the seeds of all sets, indices in the schema, ascending
  LabelRule rule;
  LabeledSeeds train;
  LabeledSeeds valid;  // empty where the task has no such set
  LabeledSeeds test;
};

// The task of that name, or the only one if `name` is empty, with its index in schema.tasks.
//   NotFound         no task at all, or none of that name: those that exist are named
//   InvalidArgument  no name given and several to choose from: named
[[nodiscard]] StatusOr<int> ChooseTask(const Schema& schema, const std::string& name);

// Whether a set of the whole graph has rows: where a part is alone it may have none of them.
[[nodiscard]] bool HasRows(const Task& task, std::string_view set);

// Whether the sets of `task` are of nodes, as far as the schema tells. InvalidArgument saying what
// they are instead; FailedPrecondition: no sets.
[[nodiscard]] Status CheckNodeTask(const Schema& schema, const Task& task);

// Reads the rank's seeds and labels of every set: only rows of the parts that have some of them.
// `asked`: as KindOf. The number of classes is the task's `num_classes`; else one more than the
// largest label of all ranks, for which every rank looks at all rows once, a part at a time.
//   InvalidArgument     seeds are edges or tuples; or as KindOf; or labels that would be more
//                       classes than rows have a label, where neither the task nor `asked` says
//                       that they are classes: they look like values
//   FailedPrecondition  no train set or no seed in it, or a set without labels
//   OutOfRange          a label that is none (ConvertLabels), the set named: only some ranks may
//                       have met it
//   else                what the store returned
[[nodiscard]] StatusOr<NodeTaskRows> ReadNodeTask(const Stores& stores, const std::string& name,
                                                  std::optional<NodeTaskKind> asked = {},
                                                  RankOfWorld who = {});

// The rows of all ranks of the train set of a task that was read. Errors as TaskSets::Read.
[[nodiscard]] StatusOr<LabeledSeeds> ReadWholeTrainSet(const Stores& stores,
                                                       const std::string& name,
                                                       const LabelRule& rule);

// How often each label occurs in a set, over all ranks: each looks at all rows once, a part at a
// time. Of classes one count each; of several labels how many rows have a 0 of each, then how many
// a
// 1. Requires a task of either kind. Errors as ReadNodeTask.
[[nodiscard]] StatusOr<std::vector<int64_t>> CountLabels(const Stores& stores,
                                                         const NodeTaskRows& task,
                                                         std::string_view set);

}  // namespace halograph

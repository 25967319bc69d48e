// Looks at the tasks of an input before it is partitioned: which seeds have a label, which classes
// there are, and what no trainer could use. What labels are, and which are none, the trainer's rule
// says (common/graph/task_kind.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/graph/task_kind.h"
#include "common/storage/json.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// The labels of one set of a task, over all its types. Plain value.
struct LabelFacts {
  std::string task;
  std::string set;    // train, valid or test
  std::string dtype;  // as numpy names it, of the first type
  // What the task says under `task_kind`, else as the labels look.
  NodeTaskKind kind = NodeTaskKind::kClassification;
  int64_t columns = 1;       // labels a row: the most of a type
  int64_t rows = 0;          // seeds
  int64_t labelled = 0;      // of them
  int64_t nan = 0;           // rows without a label, since there is a NaN
  int64_t minus_one = 0;     // other rows without one, since it is -1
  double low = 0, high = 0;  // of all labels; 0 if there are none
  int64_t classes = 0;       // different labels that occur; 0 where they are no classes
  int64_t num_classes = 0;   // that the task says it has; 0: it does not say
  // The first label that is no class, in words: a fraction, below -1, or not below num_classes (or
  // 2^24, which is more than a trainer takes). Empty where there is none, for several columns, and
  // for values.
  std::string wrong;
};

// Of every set that has labels, in the order of the tasks and of train, valid, test. Reads each
// label once.
[[nodiscard]] std::vector<LabelFacts> LabelsOf(const Dataset& dataset);

// "140 of 140 seeds are labelled; 7 of 7 classes, 0 to 6 (int64)"
[[nodiscard]] std::string ToText(const LabelFacts& facts);
[[nodiscard]] Json ToJson(const LabelFacts& facts);

// What is probably not meant, each with what to do: labels that halograph-train refuses, a training
// set without a label, a node that is a seed of two sets of a task. Reads each seed twice; memory:
// a bit a node and set of one type.
[[nodiscard]] std::vector<std::string> WarningsOf(const Dataset& dataset,
                                                  const std::vector<LabelFacts>& labels);

// OutOfRange with the first label that is no class of a task that says how many it has.
[[nodiscard]] Status CheckLabels(const std::vector<LabelFacts>& labels);

}  // namespace halograph

// What the labels of a task's sets come to over all ranks, each of which has read a share of the
// rows. Small: no rank reads a row again.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/status.h"
#include "trainer/distributed/communicator.h"
#include "trainer/seeds/labeled_seeds.h"

namespace halograph {

// Of one set. Plain value.
struct SetLabels {
  int64_t rows = 0;
  int64_t labelled = 0;  // rows that have a label (HasLabel)
  // The lowest and the highest class of them; the same where there is no such thing.
  int64_t low = 0, high = 0;
  int64_t contradicted = 0;  // seeds with labels that differ (LabeledSeeds)
};
using TaskLabels = std::array<SetLabels, 3>;  // of train, valid and test

// Of a rank's rows.
[[nodiscard]] TaskLabels OwnLabels(const NodeTaskRows& rows);
// Of all ranks', the same on each. Errors as Communicator.
[[nodiscard]] StatusOr<TaskLabels> LabelsOverRanks(const TaskLabels& own, Communicator& ranks);

}  // namespace halograph

// Which of a list of global ids are of partitions mapped here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/owner_split.h"
#include "common/graph/partition.h"

namespace halograph {

// The shares of SplitOwned.
inline constexpr int kOwn = 0;
inline constexpr int kRest = 1;

// The target of every part of a graph, of which `mapped` are here.
[[nodiscard]] inline std::vector<int> OwnTargets(const PartitionSet& mapped) {
  std::vector<int> targets;
  for (int part = 0; part < mapped.book().num_parts(); ++part) {
    targets.push_back(mapped.Find(part) != nullptr ? kOwn : kRest);
  }
  return targets;
}

}  // namespace halograph

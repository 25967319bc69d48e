// Gives the parts of a partition folder what each needs to be trained on alone: part-XXXX/halo
// (common/graph/FORMAT.md, "Halo"). No file that is there changes, nor does the identity.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "common/base/status.h"
#include "common/graph/halo.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

struct HaloOptions {
  int hops = 1;
  int64_t memory = kAnyMemory;                  // anonymous memory that the work may hold
  bool replace = false;                         // halos that are there
  VerifyLevel verify = VerifyLevel::kContents;  // of the parts that are read
};

// What AddHalos holds for a graph of so many nodes a type: the same whatever the number of parts.
[[nodiscard]] MemoryPlan PlanHalos(const std::vector<int64_t>& nodes_of_types);

// Makes the halo of every part, one part after the other, and returns what was made, by part.
// Copies come out of the mapped parts, all of which must be in `graph`. The halo of a part appears
// whole or not at all; after an error those of earlier parts stay.
//   InvalidArgument    hops outside [1, kMostHaloHops]
//   AlreadyExists      a part has a halo, and `replace` is false: nothing is touched
//   ResourceExhausted  it would hold more than `memory`; or the disk has no room for a part's halo,
//                      which is known and checked before it is written
//   else               as PartitionSet::Open, and of writing
[[nodiscard]] StatusOr<std::vector<HaloManifest>> AddHalos(const std::filesystem::path& graph,
                                                           const HaloOptions& options);

}  // namespace halograph

// Which partitions a machine has mapped: what a store over them and another store must know.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "client/graph_store.h"
#include "common/base/status.h"
#include "common/graph/partition.h"

namespace halograph {

// The parts whose folders are below `graph`, ascending.
// NotFound: the folder, or any part in it, is missing; else as reading a folder fails.
[[nodiscard]] StatusOr<std::vector<int>> PartsPresent(const std::filesystem::path& graph);

// How many parts the graph has of which some are below `graph`. Errors as PartsPresent and
// ReadPartManifest.
[[nodiscard]] StatusOr<int> CountPartsOf(const std::filesystem::path& graph);

// FailedPrecondition naming both identities unless they are equal. `where` and `other_where` say
// whose they are: "--local DIR", "the servers".
[[nodiscard]] Status CheckSameGraph(const GraphInfo& info, std::string_view where,
                                    const GraphInfo& other, std::string_view other_where);

// Targets of an OwnerSplit by who has a part.
inline constexpr int kOwn = 0;
inline constexpr int kRest = 1;
inline constexpr int kOwnOrRest = 2;  // how many

// The target of every part of the graph of which `mapped` are here.
[[nodiscard]] std::vector<int> OwnTargets(const PartitionSet& mapped);

}  // namespace halograph

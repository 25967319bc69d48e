// Where a run without --state and without servers keeps the rows that it learns: with its
// checkpoints, whose snapshots they have.
#pragma once

#include <filesystem>

namespace halograph {

// DIR/state, where DIR is the folder of checkpoints that `checkpoint` is, or that the checkpoint is
// in which it is, also if `checkpoint` is a link to one.
[[nodiscard]] std::filesystem::path OwnStateOf(const std::filesystem::path& checkpoint);

}  // namespace halograph

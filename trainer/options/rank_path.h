// Where a rank writes a file that each of several ranks has.
#pragma once

#include <string>

namespace halograph {

// `path`, or of several ranks "trace.rank3.json" for "trace.json". Empty if `path` is.
[[nodiscard]] std::string PathOfRank(const std::string& path, int rank, int world_size);

}  // namespace halograph

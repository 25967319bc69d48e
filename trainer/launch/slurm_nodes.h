// Lists of nodes as Slurm writes them: "n[0-3,7],m1". A pure function.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

// The first node of such a list: of "rack[2-3]n[08,10-12],m1" it is "rack2n08".
// InvalidArgument: it is empty, or not of that form; says where.
[[nodiscard]] StatusOr<std::string> FirstOfNodeList(std::string_view list);

}  // namespace halograph

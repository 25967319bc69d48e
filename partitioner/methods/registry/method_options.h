// Which options are of which methods, so that one that would be ignored is refused. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace halograph {

// Of the methods that exist; `option` as on the command line, without dashes.
[[nodiscard]] std::vector<std::string> MethodsThatTake(std::string_view option);

// InvalidArgument naming the methods that take it, if none of `methods` does.
[[nodiscard]] Status CheckOptionTaken(std::string_view option,
                                      const std::vector<std::string>& methods);

}  // namespace halograph

// The partition methods that exist, by the names that --method takes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/method.h"

namespace halograph {

// One of MethodNames(), or "auto" (AutoMethod). InvalidArgument naming the methods that exist.
[[nodiscard]] StatusOr<std::unique_ptr<PartitionMethod>> MakeMethod(std::string_view name);
[[nodiscard]] std::vector<std::string> MethodNames();

// Which options are of which methods, so that one that would be ignored is refused. Pure functions.

// Of the methods that exist; `option` as on the command line, without dashes.
[[nodiscard]] std::vector<std::string> MethodsThatTake(std::string_view option);

// InvalidArgument naming the methods that take it, if none of `methods` does.
[[nodiscard]] Status CheckOptionTaken(std::string_view option,
                                      const std::vector<std::string>& methods);

}  // namespace halograph

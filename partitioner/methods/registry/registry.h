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

}  // namespace halograph

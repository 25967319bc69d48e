// The partition methods by the names that --method takes, and which options each method has.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/method.h"

namespace halograph {

// `name`: one of MethodNames(), or "auto" (AutoMethod). InvalidArgument names the existing methods.
[[nodiscard]] StatusOr<std::unique_ptr<PartitionMethod>> MakeMethod(std::string_view name);
[[nodiscard]] std::vector<std::string> MethodNames();
// InvalidArgument if `order` needs clusters and `method` finds none; it names methods that do.
[[nodiscard]] Status CheckOrder(const PartitionMethod& method, NodeOrder order);

// The methods that have `option` (as on the command line, without dashes).
[[nodiscard]] std::vector<std::string> MethodsThatTake(std::string_view option);

// InvalidArgument, which names the methods that have `option`, if none of `methods` has it: it
// would be ignored.
[[nodiscard]] Status CheckOptionTaken(std::string_view option,
                                      const std::vector<std::string>& methods);

}  // namespace halograph

// How a list of methods names one: "hdrf", or "hdrf:random" with the owner rule of an edge
// partitioner. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "partitioner/methods/method.h"

namespace halograph {

// The method's name; the rule goes to options->edge.owner where there is one.
//   InvalidArgument  no such method or rule, or a rule for a method that takes none
[[nodiscard]] StatusOr<std::string> ParseMethodWord(std::string_view word, MethodOptions* options);

}  // namespace halograph

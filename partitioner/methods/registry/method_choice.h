// Which method a run takes where the user names none. Pure functions.
#pragma once

#include <string>

#include "partitioner/methods/method.h"

namespace halograph {

// The name under which the choice itself is asked for.
inline constexpr char kAutoMethod[] = "auto";

struct MethodChoice {
  std::string method;
  std::string why;  // one sentence with the figures
};

// METIS where the graph fits its 32-bit ids and its plan fits options.memory, since its quality is
// the measure of all others; stream-metis where it does not.
[[nodiscard]] MethodChoice ChooseMethod(const GraphCounts& counts, const MethodOptions& options);

}  // namespace halograph

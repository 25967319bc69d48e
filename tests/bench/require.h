// What a benchmark does whose measured work cannot fail.
#pragma once

#include <cstdlib>

#include <fmt/format.h>

#include "common/base/status.h"

namespace halograph {

// Ends the program, saying why, if it failed all the same.
inline void Require(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", Message(status));
  std::exit(1);
}

}  // namespace halograph

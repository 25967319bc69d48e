// The time of day, for what people and other programs read. How long something took: stopwatch.h.
#pragma once

#include <chrono>

namespace halograph {

[[nodiscard]] inline double SecondsSince1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace halograph

// Where the sampler's work meets the standard library's exceptions.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>

#include "common/base/status.h"

namespace halograph {

// Runs `work`, which returns a Status or StatusOr. ResourceExhausted if memory ends on the way;
// `count` of `what` ("seeds") is what it was doing.
template <typename Work>
[[nodiscard]] auto CatchNoMemory(int64_t count, const char* what, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(
        "no memory to sample with {} {}; use a smaller batch or smaller fanouts, or fewer sampling "
        "threads (each needs 4 bytes a node)",
        count, what);
  } catch (const std::length_error&) {
    return ResourceExhausted(
        "sampling with {} {} takes more than memory can be; use a smaller batch or smaller fanouts",
        count, what);
  }
}

}  // namespace halograph

// Waiting for what rank 0 alone does and what may take longer than a collective may: writing to a
// slow disk, or reading from it. All ranks meet every few seconds meanwhile, so that none takes
// another for lost that is still there.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "common/base/status.h"
#include "trainer/distributed/communicator.h"

namespace halograph {

// Waits for so long at most. Whether what is waited for is done.
using WaitAWhile = std::function<bool(std::chrono::nanoseconds at_most)>;

// Every rank calls it, and it returns on all of them once rank 0's `done` is true; that of other
// ranks is not called. `timeout`: of the collectives. Where it is done already this costs one
// collective of a few bytes; with one rank nothing. Nothing else bounds the wait.
// Errors as Communicator's collectives; then rank 0 may not be done.
[[nodiscard]] Status WaitTogether(Communicator& ranks, std::chrono::nanoseconds timeout,
                                  const WaitAWhile& done, std::string_view what);

}  // namespace halograph

// Waiting for what a rank does alone and what may take longer than a collective may: writing to a
// slow disk, or reading from it. All ranks meet every few seconds meanwhile, so that none takes
// another for lost that is still there.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "trainer/distributed/communicator.h"

namespace halograph {

// Waits for so long at most. Whether what is waited for is done.
using WaitAWhile = std::function<bool(std::chrono::nanoseconds at_most)>;

// Every rank calls it, and it returns on all of them once rank 0's `done` is true; that of other
// ranks is not called. Where it is done already this costs one collective of a few bytes; with one
// rank nothing but the wait. Nothing else bounds the wait.
// Errors as Communicator's collectives; then rank 0 may not be done.
[[nodiscard]] Status WaitTogether(Communicator& ranks, const WaitAWhile& done,
                                  std::string_view what);

// What a rank has to do. It looks at `cancel` now and then, which outlives it.
using RankWork = std::function<Status(const CancelToken& cancel)>;

// Every rank calls it, each with work of its own, or null. Returns OK on all of them once all have
// done theirs. The work runs on a thread of its own, so that what it uses of this one (libtorch's
// number of threads) is not there; with one rank, on this thread. Nothing else bounds the wait.
// `cancel`, which may be null, cancels the work; so does what ends the wait, since nobody waits for
// the work any more: it returns only when the work has ended. Errors:
//   the work's own  at once; who then leaves (Communicator::Leave) ends the others' work too
//   else            as Communicator's collectives: another rank has left
// What the work throws is thrown here.
[[nodiscard]] Status WorkTogether(Communicator& ranks, const CancelToken* cancel,
                                  const RankWork& work, std::string_view what);

}  // namespace halograph

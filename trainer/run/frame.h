// What every run begins and ends with, whatever it is for.
#pragma once

#include <functional>

#include "common/base/status.h"
#include "common/program/stop_signal.h"
#include "trainer/options/train_options.h"
#include "trainer/output/train_log.h"
#include "trainer/run/run_port.h"
#include "trainer/training/session.h"

namespace halograph {

// What one rank does. Called once for each rank of this process, on threads of their own.
using RunBody = std::function<Status(Session& session)>;

// Sets up the process, and calls `body` for its ranks, each with a session of its own options
// (OptionsOfRank) and its metrics of `port`, whose calls a signal cancels. What it throws is an
// error: `doing` says of what
// ("inferring"). After an error the other ranks are told why, here and elsewhere, and `log` ends
// with {"error": ...}. Errors as `body`, of the rank that failed first, and behind it the advice of
// the first rank here (Session::advice).
[[nodiscard]] Status RunInFrame(const TrainOptions& options, StopSignal& stop, const char* doing,
                                TrainLog& log, const RunPort& port, const RunBody& body);

// A signal cancels calls; what these then say is not the reason of the end.
[[nodiscard]] Status UnlessStopped(const Session& session, Status status);

}  // namespace halograph

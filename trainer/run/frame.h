// What every run begins and ends with, whatever it is for.
#pragma once

#include <functional>

#include "common/base/status.h"
#include "common/program/stop_signal.h"
#include "trainer/launch/options.h"
#include "trainer/output/train_log.h"
#include "trainer/training/session.h"

namespace halograph {

using RunBody = std::function<Status(Session& session, TrainLog& log)>;

// Sets up the process and the log (rank 0), and calls `body` with a session of `options`. What it
// throws is an error: `doing` says of what ("inferring"). After an error the other ranks are told
// why, and the log ends with {"error": ...}. Errors of TrainLog::Create, and as `body`.
[[nodiscard]] Status RunInFrame(const TrainOptions& options, StopSignal& stop, const char* doing,
                                const RunBody& body);

}  // namespace halograph

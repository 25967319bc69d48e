#include "trainer/run/frame.h"

#include "common/base/log.h"
#include "common/base/progress.h"
#include "trainer/launch/blas.h"
#include "trainer/run/prepare.h"
#include "trainer/training/torch_error.h"

namespace halograph {

Status RunInFrame(const TrainOptions& options, StopSignal& stop, const char* doing,
                  const RunBody& body) {
  Progress::Enable(!options.quiet);
  SetUpComputation(options);
  TrainLog log;
  if (options.rank == 0) {
    WarnIfSlowBlas();
    HG_ASSIGN_OR_RETURN(log, TrainLog::Create(options.log));
  }
  Session session;
  session.options = options;
  session.stop = &stop;
  Status status;
  try {
    status = body(session, log);
  } catch (const std::exception& error) {
    status = TorchError(options.rank, doing, error);
  }
  stop.OnStop(nullptr);
  if (status.ok()) return status;
  // A signal cancels calls; what these then say is not the reason of the end.
  if (const Status stopped = session.CheckStop(); !stopped.ok()) status = stopped;
  if (session.ranks != nullptr) session.ranks->Leave(ToString(status));
  if (const Status written = log.Write(Json{{"error", ToString(status)}}); !written.ok()) {
    spdlog::warn("{}", ToString(written));
  }
  return status;
}

}  // namespace halograph

#include "trainer/run/frame.h"

#include "common/base/log.h"
#include "common/base/progress.h"
#include "trainer/launch/blas.h"
#include "trainer/run/prepare.h"
#include "trainer/training/torch_error.h"

namespace halograph {

Status UnlessStopped(const Session& session, Status status) {
  if (!status.ok()) HG_RETURN_IF_ERROR(session.CheckStop());
  return status;
}

Status RunInFrame(const TrainOptions& options, StopSignal& stop, const char* doing, TrainLog& log,
                  const RunBody& body) {
  Progress::Enable(!options.quiet);
  SetUpComputation(options);
  if (options.rank == 0) WarnIfSlowBlas();
  Session session;
  session.options = options;
  session.stop = &stop;
  Status status;
  try {
    status = body(session);
  } catch (const std::exception& error) {
    status = TorchError(options.rank, doing, error);
  }
  stop.OnStop(nullptr);
  if (status.ok()) return status;
  if (session.ranks != nullptr) session.ranks->Leave(ToString(status));
  if (const Status written = log.Write(Json{{"error", ToString(status)}}); !written.ok()) {
    spdlog::warn("{}", ToString(written));
  }
  return status;
}

}  // namespace halograph

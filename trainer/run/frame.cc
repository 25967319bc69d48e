#include "trainer/run/frame.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/base/progress.h"
#include "trainer/launch/blas.h"
#include "trainer/run/prepare.h"
#include "trainer/training/torch_error.h"

namespace halograph {
namespace {

struct RankEnd {
  Status status;
  std::string advice;  // Session's
};

// One rank from its beginning to its end.
RankEnd RunRank(const TrainOptions& options, RankSeat seat, StopSignal& stop,
                const CancelToken& stopped, const char* doing,
                std::shared_ptr<TrainMetrics> metrics, const RunBody& body) {
  SetUpThread(options);
  Session session;
  const CancelToken::Registration on_stop(&stopped, [&session] { session.cancel.Cancel(); });
  session.options = options;
  session.seat = seat;
  session.stop = &stop;
  session.metrics = std::move(metrics);
  session.options.remote.metrics = session.metrics->registry();
  Status status;
  try {
    status = body(session);
  } catch (const std::exception& error) {
    status = TorchError(options.rank, doing, error);
  }
  if (!status.ok()) seat.host->Leave(seat.index, ToString(status));
  return {std::move(status), std::move(session.advice)};
}

// All ranks of this process. An error is that of the rank that left first: the others' are
// consequences. Rank 0's advice is of the whole run, whoever failed.
Status RunRanks(const TrainOptions& options, StopSignal& stop, const CancelToken& stopped,
                const char* doing, const RunPort& port, const RunBody& body) {
  HostedRanks host(options.rank, options.world_size, options.ranks_here());
  std::vector<RankEnd> ends(static_cast<size_t>(host.count()));
  const auto run = [&](int index) {
    ends[index] = RunRank(OptionsOfRank(options, index), {&host, index}, stop, stopped, doing,
                          port.rank(index), body);
  };
  std::vector<std::thread> others;
  for (int index = 1; index < host.count(); ++index) others.emplace_back(run, index);
  run(0);
  for (std::thread& other : others) other.join();
  const Status& first = ends[host.first_to_leave().value_or(0)].status;
  return first.ok() ? first : MakeStatus(first.code(), Message(first) + ends[0].advice);
}

}  // namespace

Status UnlessStopped(const Session& session, Status status) {
  if (!status.ok()) HG_RETURN_IF_ERROR(session.CheckStop());
  return status;
}

Status RunInFrame(const TrainOptions& options, StopSignal& stop, const char* doing, TrainLog& log,
                  const RunPort& port, const RunBody& body) {
  Progress::Enable(!options.quiet);
  SetUpComputation();
  if (options.rank == 0 && !at::hasMKL()) WarnIfSlowBlas();  // MKL has no name of its own there
  CancelToken stopped;
  stop.OnStop([&stopped] { stopped.Cancel(); });
  const Status status = RunRanks(options, stop, stopped, doing, port, body);
  stop.OnStop(nullptr);
  if (status.ok()) return status;
  if (const Status written = log.Write(Json{{"error", ToString(status)}}); !written.ok()) {
    spdlog::warn("{}", ToString(written));
  }
  return status;
}

}  // namespace halograph

#include "trainer/run/run_port.h"

#include <unistd.h>

#include "common/base/build_info.h"
#include "common/base/host_name.h"
#include "common/base/wall_clock.h"
#include "common/metrics/json/metrics_json.h"
#include "common/metrics/process_metrics.h"
#include "common/operator_port/operator_port.h"
#include "common/tls/tls_metrics.h"
#include "common/ui/status_reader.h"
#include "trainer/launch/command_line.h"
#include "trainer/launch/own_port.h"

namespace halograph {
namespace {

// The rank that tells where the process is: its ranks go in step.
constexpr int kFirst = 0;

}  // namespace

RunPort::RunPort(const TrainOptions& options)
    : options_(options), metrics_(std::make_shared<MetricRegistry>()) {
  for (int index = 0; index < options.ranks_here(); ++index) {
    const TrainOptions own = OptionsOfRank(options, index);
    ranks_.push_back(std::make_shared<TrainMetrics>(metrics_, own.rank, own.world_size));
  }
  readers_ = AddProcessMetrics(metrics_.get(), kTrainProgram);
  for (MetricReader& reader : AddTlsMetrics(metrics_.get(), options.remote.tls_files)) {
    readers_.push_back(std::move(reader));
  }
}

StatusOr<std::unique_ptr<RunPort>> RunPort::Open(const TrainOptions& options) {
  std::unique_ptr<RunPort> port(new RunPort(options));
  HG_RETURN_IF_ERROR(port->metrics_->status());
  const auto why_not_ready = [first = port->rank(kFirst)] {
    return std::string(first->phase() == RunPhase::kStarting ? "not ready: the run prepares" : "");
  };
  const auto status = [it = port.get()](const HttpRequest&) -> StatusOr<std::string> {
    return PrintableJson(it->StatusJson());
  };
  HG_ASSIGN_OR_RETURN(
      port->http_,
      ServeOperators(OwnHttpOptions(options),
                     {.metrics = port->metrics_.get(),
                      .why_not_ready = why_not_ready,
                      .status = status,
                      .page = [it = port.get()] { return ui::ReadUiData(it->StatusJson()); }}));
  return port;
}

Json RunPort::StatusJson() const {
  const TrainMetrics& first = *rank(kFirst);
  const MetricsSnapshot taken = metrics_->Take();
  return {{"program", kTrainProgram},
          {"build_version", BuildVersion()},
          {"uptime_seconds", taken.Value("halograph_uptime_seconds")},
          {"unix_seconds", SecondsSince1970()},
          {"phase", PhaseName(first.phase())},
          {"rank", OptionsOfRank(options_, kFirst).rank},
          {"ranks_here", options_.ranks_here()},
          {"world_size", options_.all_ranks()},
          {"host_name", HostName()},
          {"pid", getpid()},
          {"servers", options_.remote.servers},
          {"tls", TlsStatusJson(options_.remote.tls_files.get())},
          {"epoch", first.epoch()},
          {"step", first.step()},
          {"metrics", MetricsJson(taken)}};
}

}  // namespace halograph

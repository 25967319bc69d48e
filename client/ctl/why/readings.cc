#include "client/ctl/why/readings.h"

#include <algorithm>
#include <utility>

#include "common/base/printable.h"

namespace halograph::ctl {
namespace {

// Of two times of a process, it ran less by so much of the time between: it is another one.
constexpr double kRanOn = 0.5;

bool IsRestarted(double uptime_before, double uptime_after, double seconds) {
  return uptime_after < uptime_before + kRanOn * seconds;
}

std::string ErrorOf(const Status& before, const Status& after) {
  const Status& error = after.ok() ? before : after;
  return error.ok() ? std::string() : Printable(ToString(error), kMessageShown);
}

template <typename T>
T Field(const Json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? Printable(found->get<std::string>(), kNameShown) : otherwise;
  } else {
    return found->is_number() ? found->get<T>() : otherwise;
  }
}

}  // namespace

StatusOr<TrainerReading> ReadTrainerStatus(std::string_view text, const std::string& where) {
  HG_ASSIGN_OR_RETURN(const Json status, ParseJson(text, where));
  if (!status.is_object()) return DataLoss("{}: /status is no object", where);
  const auto program = Field<std::string>(status, "program", "");
  if (program != "halograph-train") {
    return FailedPrecondition("{} is the port of {}: --trainer wants --http-listen of a trainer",
                              where, program.empty() ? "another program" : program);
  }
  TrainerReading reading{.address = where,
                         .unix_seconds = Field<double>(status, "unix_seconds", 0),
                         .build_version = Field<std::string>(status, "build_version", ""),
                         .host_name = Field<std::string>(status, "host_name", ""),
                         .phase = Field<std::string>(status, "phase", ""),
                         .rank = Field<int>(status, "rank", -1),
                         .world_size = Field<int>(status, "world_size", 0),
                         .uptime_seconds = Field<double>(status, "uptime_seconds", 0),
                         .epoch = Field<int64_t>(status, "epoch", 0),
                         .step = Field<int64_t>(status, "step", 0)};
  const auto metrics = status.find("metrics");
  if (metrics == status.end()) return DataLoss("{}: /status has no 'metrics'", where);
  HG_ASSIGN_OR_RETURN(reading.metrics, ReadMetricValues(*metrics, where));
  return reading;
}

Evidence ToEvidence(std::vector<ServerReading> servers_before,
                    std::vector<ServerReading> servers_after,
                    std::vector<TrainerReading> trainers_before,
                    std::vector<TrainerReading> trainers_after) {
  Evidence evidence;
  for (size_t i = 0; i < servers_after.size(); ++i) {
    ServerReading& before = servers_before.at(i);
    ServerReading& after = servers_after[i];
    const double seconds = after.at_seconds - before.at_seconds;
    ServerEvidence server{.address = after.address,
                          .own_address = after.own_address,
                          .error = ErrorOf(before.error, after.error),
                          .without_metrics = after.without_metrics,
                          .seconds = seconds};
    if (server.error.empty()) {
      server.restarted = IsRestarted(before.uptime_seconds, after.uptime_seconds, seconds);
      server.round_trip_seconds = before.round_trip_seconds;
      if (after.round_trip_seconds) {
        server.round_trip_seconds =
            std::min(before.round_trip_seconds.value_or(*after.round_trip_seconds),
                     *after.round_trip_seconds);
      }
      server.metrics = MetricChange(std::move(before.metrics), std::move(after.metrics));
    }
    evidence.servers.push_back(std::move(server));
  }
  for (size_t i = 0; i < trainers_after.size(); ++i) {
    TrainerReading& before = trainers_before.at(i);
    TrainerReading& after = trainers_after[i];
    const double seconds = after.at_seconds - before.at_seconds;
    TrainerEvidence trainer{.address = after.address,
                            .error = ErrorOf(before.error, after.error),
                            .rank = after.rank,
                            .world_size = after.world_size,
                            .phase = after.phase,
                            .seconds = seconds};
    if (trainer.error.empty()) {
      trainer.restarted = IsRestarted(before.uptime_seconds, after.uptime_seconds, seconds);
      trainer.metrics = MetricChange(std::move(before.metrics), std::move(after.metrics));
    }
    evidence.trainers.push_back(std::move(trainer));
  }
  return evidence;
}

}  // namespace halograph::ctl

#include "client/ctl/why/readings.h"

#include <algorithm>
#include <utility>

#include "common/base/printable.h"
#include "common/storage/lenient_json.h"

namespace halograph::ctl {
namespace {

// What a trainer may say: more is another program's, and counts as not told.
constexpr int64_t kMostRanks = 1 << 16;
constexpr int64_t kMostSteps = int64_t{1} << 53;
// A process that began later by less is the same one: its answers took that long to come.
constexpr double kSameStart = 5;

// Of two readings of a process: the second is of another one. By when it began, on our clock.
template <typename Reading>
bool IsRestarted(const Reading& before, const Reading& after) {
  const double began_later =
      (after.at_seconds - after.uptime_seconds) - (before.at_seconds - before.uptime_seconds);
  return after.uptime_seconds < before.uptime_seconds || began_later > kSameStart;
}

std::string ErrorOf(const Status& before, const Status& after) {
  const Status& error = after.ok() ? before : after;
  return error.ok() ? std::string() : Printable(ToString(error), kMessageShown);
}

std::string ShownOf(const Json& object, const char* key) {
  return Printable(TextOf(object, key), kNameShown);
}

// A whole number of 0 to `most`, or `otherwise`.
int64_t WithinOf(const Json& object, const char* key, int64_t most, int64_t otherwise) {
  const Json& value = FieldOf(object, key);
  const double number = NumberIn(value).value_or(-1);
  const bool fits = number >= 0 && number <= static_cast<double>(most);
  return fits ? ToWhole(number) : otherwise;
}

}  // namespace

StatusOr<TrainerReading> ReadTrainerStatus(std::string_view text, const std::string& where) {
  HG_ASSIGN_OR_RETURN(const Json status, ParseJson(text, where));
  if (!status.is_object()) return DataLoss("{}: /status is no object", where);
  const std::string program = ShownOf(status, "program");
  if (program != "halograph-train") {
    return FailedPrecondition("{} is the port of {}: --trainer wants --http-listen of a trainer",
                              where, program.empty() ? "another program" : program);
  }
  TrainerReading reading{
      .address = where,
      .unix_seconds = DoubleOf(status, "unix_seconds"),
      .build_version = ShownOf(status, "build_version"),
      .host_name = ShownOf(status, "host_name"),
      .phase = ShownOf(status, "phase"),
      .rank = static_cast<int>(WithinOf(status, "rank", kMostRanks, -1)),
      .world_size = static_cast<int>(WithinOf(status, "world_size", kMostRanks, 0)),
      .uptime_seconds = DoubleOf(status, "uptime_seconds"),
      .epoch = WithinOf(status, "epoch", kMostSteps, 0),
      .step = WithinOf(status, "step", kMostSteps, 0)};
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
                          .left_out = after.left_out,
                          .seconds = seconds};
    if (server.error.empty()) {
      server.restarted = IsRestarted(before, after);
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
      trainer.restarted = IsRestarted(before, after);
      trainer.metrics = MetricChange(std::move(before.metrics), std::move(after.metrics));
    }
    evidence.trainers.push_back(std::move(trainer));
  }
  return evidence;
}

}  // namespace halograph::ctl

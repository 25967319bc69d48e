// What servers and trainers have left, and who waits for whom: what stops a job that runs.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "client/ctl/doctor/checkup.h"
#include "client/ctl/why/causes.h"
#include "common/base/units.h"

namespace halograph::ctl {
namespace {

void AddLine(std::vector<Diagnosis>* lines, Severity severity, std::string what,
             std::string advice = {}) {
  lines->push_back({.severity = severity, .what = std::move(what), .advice = std::move(advice)});
}

std::optional<double> Now(const MetricValues& metrics, std::string_view name,
                          const LabelValues& match = {}) {
  return MetricChange({}, metrics).Gauge(name, match);
}

std::string Bytes(double bytes) { return FormatBytes(std::llround(bytes)); }

// Of two figures, a use and its bound, a line if it is nearly reached.
struct Bound {
  std::string_view used;
  std::string_view limit;
  std::string_view what;
  std::string_view advice;
  bool bytes;
  double look;
  double fault;  // above 1: never
};

void CheckBound(const Bound& bound, const std::string& who, const MetricValues& metrics,
                size_t* known, std::vector<Diagnosis>* lines) {
  const auto used = Now(metrics, bound.used);
  const auto limit = Now(metrics, bound.limit);
  if (!used || !limit || *limit <= 0) return;
  ++*known;
  const double share = *used / *limit;
  if (!(share >= bound.look) || std::isinf(share)) return;  // what is no number, too
  const auto show = [&](double value) {
    return bound.bytes ? Bytes(value) : FormatCount(std::llround(value));
  };
  AddLine(lines, share >= bound.fault ? Severity::kFault : Severity::kLook,
          fmt::format("{} has {} of {} {} in use", who, show(*used), show(*limit), bound.what),
          std::string(bound.advice));
}

struct Client {
  double silent = 0;  // at every server
  int64_t in_flight = 0;
};

// Ranks that servers know, by host and rank.
std::map<std::string, Client> RanksOf(const Checkup& checkup) {
  std::map<std::string, Client> ranks;
  for (const ServerSeen& server : checkup.servers) {
    for (const ToldClient& told : server.second.clients) {
      if (told.rank == "-" || told.rank.empty()) continue;
      const auto [place, is_new] = ranks.try_emplace(
          fmt::format("rank {} at {}", told.rank, told.host), Client{told.silent_seconds, 0});
      place->second.silent = std::min(place->second.silent, told.silent_seconds);
      place->second.in_flight += told.in_flight;
    }
  }
  return ranks;
}

}  // namespace

void CheckDescriptors(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  const Bound bound = {"process_open_fds",
                       "process_max_fds",
                       "descriptors",
                       "raise its limit (ulimit -n, LimitNOFILE), or look for clients that open "
                       "connections and do not close them",
                       false,
                       0.8,
                       0.97};
  size_t known = 0;
  for (const ServerSeen& server : checkup.servers) {
    CheckBound(bound, "server " + server.second.address, server.second.metrics, &known, lines);
  }
  for (const TrainerSeen& trainer : checkup.trainers) {
    CheckBound(bound, "trainer " + trainer.second.address, trainer.second.metrics, &known, lines);
  }
  if (known > 0 && lines->empty()) {
    AddLine(lines, Severity::kOk, fmt::format("{} of {} have descriptors left", known, known));
  }
}

void CheckMemory(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  size_t known = 0;
  for (const ServerSeen& server : checkup.servers) {
    const std::string who = "server " + server.second.address;
    for (const Bound& bound :
         {Bound{"halograph_server_request_memory_bytes",
                "halograph_server_request_memory_limit_bytes", "for requests",
                "give it more --request-memory, or look for clients that send "
                "requests and do not end them",
                true, 0.9, 2},
          Bound{"halograph_server_reply_memory_bytes", "halograph_server_reply_memory_limit_bytes",
                "for replies", "give it more --reply-memory, or look for clients that do not read",
                true, 0.9, 2}}) {
      CheckBound(bound, who, server.second.metrics, &known, lines);
    }
  }
  if (known > 0 && lines->empty()) {
    AddLine(lines, Severity::kOk, "requests and replies have room");
  }
}

void CheckDisks(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  constexpr char kFree[] = "halograph_state_disk_free_bytes";
  constexpr char kSize[] = "halograph_state_disk_size_bytes";
  constexpr double kLookShare = 0.1;
  constexpr double kFaultBytes = 256 << 20;
  size_t known = 0;
  for (const ServerSeen& server : checkup.servers) {
    const MetricValues& metrics = server.second.metrics;
    const MetricChange change({}, metrics);
    for (const std::string& part : change.ValuesOf(kFree, "part")) {
      const double room = Now(metrics, kFree, {{"part", part}}).value_or(0);
      const auto size = Now(metrics, kSize, {{"part", part}});
      const auto log = Now(metrics, "halograph_state_log_limit_bytes", {{"part", part}});
      ++known;
      const bool fault = room < kFaultBytes;
      // A checkpoint writes beside the log.
      const bool look = (size && room < kLookShare * *size) || (log && room < 2 * *log);
      if (!fault && !look) continue;
      AddLine(lines, fault ? Severity::kFault : Severity::kLook,
              fmt::format("the disk of --state of part {} at {} has {} left", part,
                          server.second.address, Bytes(room)),
              "make room: pushes are refused when it is full");
    }
  }
  if (known > 0 && lines->empty()) AddLine(lines, Severity::kOk, "the disks of --state have room");
}

void CheckTensors(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  size_t tensors = 0;
  std::map<std::string, std::map<int64_t, std::set<int>>> parts_by_step;
  for (const ServerSeen& server : checkup.servers) {
    for (const ToldTensor& tensor : server.second.tensors) {
      ++tensors;
      parts_by_step[tensor.name][tensor.step].insert(tensor.part);
      if (!tensor.refused.empty()) {
        AddLine(lines, Severity::kFault,
                fmt::format("{}: pushes to {} of part {} are refused: {}", server.second.address,
                            tensor.name, tensor.part, tensor.refused),
                "mend what it names, and restart the server");
      }
      if (tensor.importing) {
        AddLine(lines, Severity::kLook,
                fmt::format("{}: {} of part {} is being imported, or its import was interrupted",
                            server.second.address, tensor.name, tensor.part),
                "wait for `state import`, or run it again");
      }
    }
  }
  for (const auto& [name, steps] : parts_by_step) {
    // Parts apply a step when they have all its pushes: one step apart is as it should be.
    if (steps.empty() || steps.rbegin()->first - steps.begin()->first < 2) continue;
    AddLine(lines, Severity::kLook,
            fmt::format("{} is at step {} in part {} and at step {} in part {}", name,
                        steps.begin()->first, fmt::join(steps.begin()->second, ", "),
                        steps.rbegin()->first, fmt::join(steps.rbegin()->second, ", ")),
            "restore a snapshot before the next run, if none is under way");
  }
  if (tensors > 0 && lines->empty()) {
    AddLine(lines, Severity::kOk, fmt::format("{} mutable tensors of parts take pushes", tensors));
  }
}

void CheckSlowCalls(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  constexpr double kOfLate = 60;
  for (const ServerSeen& server : checkup.servers) {
    const ServerReading& reading = server.second;
    size_t of_late = 0;
    const ToldSlowCall* slowest = nullptr;
    for (const ToldSlowCall& call : reading.slow_calls) {
      if (reading.unix_seconds - call.unix_seconds > kOfLate) continue;
      ++of_late;
      if (slowest == nullptr || call.seconds > slowest->seconds) slowest = &call;
    }
    if (slowest == nullptr) continue;
    AddLine(lines, Severity::kLook,
            fmt::format(
                "{}: {} call{} of the last minute took a second or more; the longest {}: {} "
                "of rank {} at {}, {}",
                reading.address, of_late, of_late == 1 ? "" : "s", ShortSeconds(slowest->seconds),
                slowest->method, slowest->rank, slowest->host, slowest->status),
            "ask `halograph-ctl why`, and look for its request id in the server's log");
  }
}

void CheckCalls(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  for (const ServerSeen& server : checkup.servers) {
    const ServerReading& first = server.first;
    const ServerReading& second = server.second;
    if (!first.error.ok() || !second.error.ok()) continue;
    const int64_t waiting =
        std::llround(Now(second.metrics, "halograph_server_waiting_calls").value_or(0));
    const bool stuck = first.in_flight > 0 && second.in_flight > 0 && second.ended == first.ended;
    if (!stuck && waiting == 0) continue;
    std::vector<std::string> callers;
    for (const ToldClient& client : second.clients) {
      if (client.in_flight > 0) {
        callers.push_back(
            fmt::format("rank {} at {} ({})", client.rank, client.host, client.in_flight));
      }
    }
    std::string what = fmt::format("{}: {} calls are under way", second.address, second.in_flight);
    if (stuck) {
      what += fmt::format(", and none has ended for {}",
                          ShortSeconds(second.at_seconds - first.at_seconds));
    }
    if (waiting > 0) {
      what += fmt::format(
          "; {} wait without a thread, for pushes of other ranks or for room for a "
          "reply",
          waiting);
    }
    if (!callers.empty()) what += fmt::format("; of {}", fmt::join(callers, ", "));
    AddLine(lines, Severity::kLook, what,
            stuck ? "see who is silent (ranks, below); else look at its threads and its disk"
                  : "if it stays so, see who is silent (ranks, below)");
  }
}

void CheckRanks(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  constexpr double kSilent = 5;
  const std::map<std::string, Client> ranks = RanksOf(checkup);
  std::vector<std::string> silent;
  std::vector<std::string> waiting;
  for (const auto& [name, client] : ranks) {
    if (client.in_flight > 0) {
      waiting.push_back(name);
    } else if (client.silent >= kSilent) {
      silent.push_back(fmt::format("{} for {}", name, ShortSeconds(client.silent)));
    }
  }
  if (!silent.empty() && !waiting.empty()) {
    AddLine(
        lines, Severity::kLook,
        fmt::format("no call came from {}, while {} wait{} for answers", fmt::join(silent, ", "),
                    fmt::join(waiting, ", "), waiting.size() == 1 ? "s" : ""),
        "look at the silent ones first: are they alive, what does their log say?");
  }
  std::map<std::pair<int64_t, int64_t>, std::set<std::string>> by_step;
  std::set<int> told;
  int world_size = 0;
  for (const TrainerSeen& trainer : checkup.trainers) {
    const TrainerReading& reading = trainer.second;
    if (!reading.error.ok()) continue;
    const std::string who = fmt::format("rank {}", reading.rank);
    told.insert(reading.rank);
    world_size = std::max(world_size, reading.world_size);
    by_step[{reading.epoch, reading.step}].insert(who);
    const bool moves = reading.epoch != trainer.first.epoch || reading.step != trainer.first.step;
    if (reading.phase == "training" && trainer.first.error.ok() && !moves) {
      AddLine(lines, Severity::kLook,
              fmt::format("{} made no step in {}: it is at epoch {}, step {}", who,
                          ShortSeconds(reading.at_seconds - trainer.first.at_seconds),
                          reading.epoch, reading.step),
              "a step may take longer; if others are at an earlier one, it waits for them");
    } else if (reading.phase == "starting") {
      AddLine(lines, Severity::kLook,
              fmt::format("{} is starting, for {}", who, ShortSeconds(reading.uptime_seconds)),
              "it waits for servers, or for ranks that have not come: --rank, --world-size, "
              "--master-addr and --master-port of each must fit");
    }
  }
  const auto apart = [](const auto& first, const auto& last) {
    return first.first != last.first || last.second - first.second > 1;
  };
  if (!by_step.empty() && apart(by_step.begin()->first, by_step.rbegin()->first)) {
    AddLine(lines, Severity::kLook,
            fmt::format("{} is behind: epoch {}, step {}; {} at epoch {}, step {}",
                        fmt::join(by_step.begin()->second, ", "), by_step.begin()->first.first,
                        by_step.begin()->first.second, fmt::join(by_step.rbegin()->second, ", "),
                        by_step.rbegin()->first.first, by_step.rbegin()->first.second),
            "the others wait for it: look at its log and its machine");
  }
  std::vector<int> missing;
  for (int rank = 0; rank < world_size; ++rank) {
    const std::string prefix = fmt::format("rank {} at ", rank);
    const bool called = std::any_of(ranks.begin(), ranks.end(), [&](const auto& known) {
      return known.first.starts_with(prefix);
    });
    if (!told.contains(rank) && !called) missing.push_back(rank);
  }
  if (!missing.empty()) {
    AddLine(lines, Severity::kLook,
            fmt::format("of {} ranks nothing is known of {}: no server was called by {}",
                        world_size, fmt::join(missing, ", "), missing.size() == 1 ? "it" : "them"),
            "see whether they run; name their ports in --trainer too");
  }
  if (lines->empty() && (!ranks.empty() || !told.empty())) {
    AddLine(lines, Severity::kOk,
            fmt::format("ranks that call or train: {}; none is waited for",
                        std::max(ranks.size(), told.size())));
  }
}

}  // namespace halograph::ctl

// Whether servers and trainers fit one another: what stops a job at its start.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "client/ctl/doctor/checkup.h"
#include "client/ctl/why/causes.h"
#include "common/base/call_metadata.h"

namespace halograph::ctl {
namespace {

void Add(std::vector<Diagnosis>* lines, Severity severity, std::string what,
         std::string advice = {}) {
  lines->push_back({.severity = severity, .what = std::move(what), .advice = std::move(advice)});
}

// Each, with what to call it.
template <typename Visit>
void ForEach(const Checkup& checkup, const Visit& visit) {
  for (const ServerSeen& server : checkup.servers) {
    visit("server " + server.second.address, server.name, server.first, server.second);
  }
  for (const TrainerSeen& trainer : checkup.trainers) {
    visit("trainer " + trainer.second.address, trainer.name, trainer.first, trainer.second);
  }
}

std::string Listed(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void CheckAddresses(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  size_t resolved = 0;
  std::map<std::string, std::set<std::string>> same;  // who is where
  ForEach(checkup,
          [&](const std::string& who, const FoundName& name, const auto&, const auto& reading) {
            if (!name.error.empty()) {
              Add(lines, Severity::kFault, fmt::format("{} has no address: {}", who, name.error),
                  "correct the name, or look at the name service of this machine");
              return;
            }
            ++resolved;
            const std::string port = reading.address.substr(reading.address.rfind(':') + 1);
            for (const std::string& address : name.addresses) {
              same[fmt::format("{} port {}", address, port)].insert(who);
            }
            if (name.addresses.size() > 1) {
              Add(lines, Severity::kLook,
                  fmt::format("{} has {} addresses ({}): only the first that answers is asked", who,
                              name.addresses.size(), fmt::join(name.addresses, ", ")),
                  "name each server by an address of its own");
            }
          });
  std::set<std::string> told;
  for (const auto& [address, who] : same) {
    if (who.size() > 1 && told.insert(Listed(who)).second) {
      Add(lines, Severity::kLook, fmt::format("{} are one and the same: {}", Listed(who), address),
          "name it once");
    }
  }
  if (resolved > 0 && lines->empty()) {
    Add(lines, Severity::kOk,
        fmt::format("{} name{} resolved", resolved, resolved == 1 ? "" : "s"));
  }
}

void CheckAnswers(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  size_t answered = 0;
  size_t all = 0;
  ForEach(checkup, [&](const std::string& who, const FoundName& name, const auto& first,
                       const auto& second) {
    ++all;
    if (!name.error.empty()) return;  // said already
    const Status& error = second.error.ok() ? first.error : second.error;
    if (error.ok()) {
      ++answered;
    } else if (first.error.ok() != second.error.ok()) {
      Add(lines, Severity::kLook,
          fmt::format("{} answered once of two times: {}", who, ToString(error)), "look again");
    } else if (!name.listens) {
      Add(lines, Severity::kFault,
          fmt::format("{} is gone: nothing takes connections there ({})", who, ToString(error)),
          "look at its log, or /readyz of its HTTP port: it may still open or recover; else start "
          "it, or "
          "correct the address");
    } else if (ReasonOf(error) == kClosedAtOnce) {
      Add(lines, Severity::kFault,
          fmt::format("{} refuses connections: it takes them and closes them at once ({})", who,
                      ToString(error)),
          "its log says why: a certificate that it does not take, no TLS on one side, or more "
          "connections than it may have (--connections, --connections-per-address); a proxy does "
          "so whose server is down");
    } else if (absl::IsDeadlineExceeded(error) || absl::IsUnavailable(error)) {
      Add(lines, Severity::kFault,
          fmt::format("{} hangs: it takes connections and does not answer ({})", who,
                      ToString(error)),
          "look at its process (is it stopped? its threads: gdb -p, its log, its disk); if "
          "something else listens there, correct the address");
    } else {
      Add(lines, Severity::kFault,
          fmt::format("{} answers with an error: {}", who, ToString(error)),
          "do as it says, or see whether the address is the right one");
    }
  });
  if (answered == all && all > 0) {
    Add(lines, Severity::kOk, fmt::format("{} of {} answer", answered, all));
  }
}

void CheckVersions(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  std::map<std::string, std::set<std::string>> who_by_version;
  ForEach(checkup, [&](const std::string& who, const FoundName&, const auto&, const auto& reading) {
    if (reading.error.ok()) who_by_version[reading.build_version].insert(who);
  });
  if (who_by_version.empty()) return;
  if (who_by_version.size() == 1) {
    return Add(lines, Severity::kOk, fmt::format("all are of {}", who_by_version.begin()->first));
  }
  std::vector<std::string> versions;
  versions.reserve(who_by_version.size());
  for (const auto& [version, who] : who_by_version) {
    versions.push_back(fmt::format("{} ({})", version, Listed(who)));
  }
  Add(lines, Severity::kLook, fmt::format("versions differ: {}", fmt::join(versions, "; ")),
      "they work together as far as the release notes say; give all the newest");
}

void CheckGraphs(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  std::map<std::string, std::pair<std::string, std::set<std::string>>> by_identity;
  for (const ServerSeen& server : checkup.servers) {
    if (!server.second.error.ok()) continue;
    auto& [name, who] = by_identity[server.second.identity];
    name = server.second.graph_name;
    who.insert(server.second.address);
  }
  if (by_identity.empty()) return;
  if (by_identity.size() == 1) {
    const auto& [identity, graph] = *by_identity.begin();
    return Add(lines, Severity::kOk, fmt::format("all serve graph {} ({})", graph.first, identity));
  }
  std::vector<std::string> graphs;
  graphs.reserve(by_identity.size());
  for (const auto& [identity, graph] : by_identity) {
    graphs.push_back(fmt::format("{} ({}) by {}", graph.first, identity, Listed(graph.second)));
  }
  Add(lines, Severity::kFault,
      fmt::format("servers serve different graphs: {}", fmt::join(graphs, "; ")),
      "a trainer refuses them together: give all servers parts of one partition folder, or leave "
      "the others out of --servers");
}

void CheckParts(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  std::map<std::string, int> num_parts;
  std::map<std::string, std::map<int, std::vector<std::string>>> servers;
  for (const ServerSeen& server : checkup.servers) {
    const ServerReading& reading = server.second;
    if (!reading.error.ok()) continue;
    int& parts = num_parts[reading.identity];
    parts = std::max(parts, reading.num_parts);
    for (const int part : reading.parts) servers[reading.identity][part].push_back(reading.address);
  }
  for (const auto& [identity, parts] : num_parts) {
    const auto& by_part = servers[identity];
    std::vector<int> missing;
    std::vector<std::string> several;
    for (int part = 0; part < parts; ++part) {
      const auto found = by_part.find(part);
      if (found == by_part.end()) {
        missing.push_back(part);
      } else if (found->second.size() > 1) {
        several.push_back(fmt::format("{} by {}", part, fmt::join(found->second, ", ")));
      }
    }
    const std::string of = num_parts.size() > 1 ? " of graph " + identity : "";
    if (!missing.empty()) {
      Add(lines, Severity::kFault,
          fmt::format("part{} {} of {}{} {} served by no server that answers",
                      missing.size() == 1 ? "" : "s", fmt::join(missing, ", "), parts, of,
                      missing.size() == 1 ? "is" : "are"),
          "start a server for each, or name it in --servers");
    } else if (parts > 0) {
      Add(lines, Severity::kOk,
          fmt::format(
              "all {} parts{} are served{}", parts, of,
              several.empty() ? "" : fmt::format("; part {}", fmt::join(several, "; part "))));
    }
  }
}

void CheckPhases(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  size_t well = 0;
  for (const ServerSeen& server : checkup.servers) {
    const ServerReading& reading = server.second;
    if (!reading.error.ok()) continue;
    if (reading.draining || reading.phase == "draining") {
      Add(lines, Severity::kFault,
          fmt::format("server {} drains: it takes no more calls", reading.address),
          "wait until it has ended and start it again, or leave it out");
    } else if (!reading.phase.empty() && reading.phase != "serving") {
      Add(lines, Severity::kLook, fmt::format("server {} is {}", reading.address, reading.phase),
          "wait until it serves (/readyz, its log)");
    } else {
      ++well;
    }
  }
  if (well > 0 && lines->empty()) Add(lines, Severity::kOk, fmt::format("{} serve", well));
}

void CheckClocks(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  constexpr double kLook = 1;
  constexpr double kFault = 60;
  double worst = 0;
  size_t known = 0;
  ForEach(checkup, [&](const std::string& who, const FoundName&, const auto&, const auto& reading) {
    if (!reading.error.ok() || reading.unix_seconds <= 0) return;
    ++known;
    // It was read at some time between question and answer.
    const double off = reading.unix_seconds - reading.here_unix_seconds;
    const double surely = std::max(0.0, std::abs(off) - reading.answer_seconds / 2);
    worst = std::max(worst, surely);
    if (surely <= kLook) return;
    Add(lines, surely > kFault ? Severity::kFault : Severity::kLook,
        fmt::format("the clock of {} is {} {} of this machine's", who, ShortSeconds(std::abs(off)),
                    off > 0 ? "ahead" : "behind"),
        "set it (chronyc tracking, timedatectl), or this machine's: logs and traces do not fit "
        "otherwise, and certificates may not be valid");
  });
  if (known > 0 && lines->empty()) {
    Add(lines, Severity::kOk,
        fmt::format("{} clock{} within 1 s of this machine's", known, known == 1 ? "" : "s"));
  }
}

void CheckTold(const Checkup& checkup, std::vector<Diagnosis>* lines) {
  std::set<std::string> older;
  for (const ServerSeen& server : checkup.servers) {
    if (!server.second.left_out.empty()) {
      Add(lines, Severity::kLook,
          fmt::format("server {} had no room in its answer for: {}", server.second.address,
                      fmt::join(server.second.left_out, ", ")),
          "give it and ctl a larger --max-message-bytes to see these too");
    }
    if (server.second.tensors_left_out > 0) {
      Add(lines, Severity::kLook,
          fmt::format("server {} had no room in its answer for {} mutable tensors of parts: they "
                      "were not looked at",
                      server.second.address, server.second.tensors_left_out),
          "see them with halograph-ctl state list, or give it and ctl a larger "
          "--max-message-bytes");
    }
    if (server.second.error.ok() && server.second.without_metrics) {
      older.insert(server.second.address);
    }
  }
  if (older.empty()) return;
  Add(lines, Severity::kLook,
      fmt::format("{} {} no metrics (an older version): clocks, descriptors, memory, disks, "
                  "clients and slow calls of {} were not looked at",
                  Listed(older), older.size() == 1 ? "tells" : "tell",
                  older.size() == 1 ? "it" : "them"),
      "give them this version to see these too");
}

}  // namespace halograph::ctl

// What `halograph-ctl doctor` finds, before a job or in a hang: a line for each thing that was
// looked at. One row of a table a check; a check that is added is one function and its row. Pure
// functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/ctl/why/readings.h"
#include "common/storage/json.h"

namespace halograph::ctl {

// What a name came to.
struct FoundName {
  std::vector<std::string> addresses = {};  // numbers, each once
  std::string error = {};
  // Whether something takes connections at one of them.
  bool listens = false;
};

struct ServerSeen {
  FoundName name = {};
  ServerReading first = {};
  ServerReading second = {};  // a little later
};

struct TrainerSeen {
  FoundName name = {};
  TrainerReading first = {};
  TrainerReading second = {};
};

struct Checkup {
  std::vector<ServerSeen> servers = {};
  std::vector<TrainerSeen> trainers = {};
};

enum class Severity {
  kOk,
  kLook,   // may be meant, or not matter; or cannot be told
  kFault,  // a job fails or hangs with it
};
[[nodiscard]] std::string_view Word(Severity severity);  // "ok", "look", "fault"

struct Diagnosis {
  Severity severity = Severity::kOk;
  std::string check = {};   // "clocks"
  std::string what = {};    // one sentence: who, and what of it
  std::string advice = {};  // what to do; empty: nothing
};

struct Check {
  std::string_view name;
  // Adds its lines; none, if it was not told enough and another check says so.
  void (*run)(const Checkup& checkup, std::vector<Diagnosis>* lines);
};
[[nodiscard]] std::span<const Check> Checks();

// All lines, check by check.
[[nodiscard]] std::vector<Diagnosis> Examine(const Checkup& checkup);

// For people: names of others are escaped.
[[nodiscard]] std::string FormatDiagnoses(const std::vector<Diagnosis>& lines);
[[nodiscard]] Json ToJson(const std::vector<Diagnosis>& lines);

// The rows: what is of the servers' start, of what they have, and of who waits for whom.
void CheckAddresses(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckAnswers(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckVersions(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckGraphs(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckParts(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckPhases(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckClocks(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckDescriptors(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckMemory(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckDisks(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckTensors(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckSlowCalls(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckCalls(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckRanks(const Checkup& checkup, std::vector<Diagnosis>* lines);
void CheckTold(const Checkup& checkup, std::vector<Diagnosis>* lines);

}  // namespace halograph::ctl

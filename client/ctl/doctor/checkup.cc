#include "client/ctl/doctor/checkup.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "common/base/printable.h"

namespace halograph::ctl {
namespace {

constexpr std::array kChecks = {
    Check{"addresses", CheckAddresses}, Check{"answers", CheckAnswers},
    Check{"versions", CheckVersions},   Check{"graphs", CheckGraphs},
    Check{"parts", CheckParts},         Check{"phases", CheckPhases},
    Check{"clocks", CheckClocks},       Check{"descriptors", CheckDescriptors},
    Check{"memory", CheckMemory},       Check{"disks", CheckDisks},
    Check{"tensors", CheckTensors},     Check{"slow calls", CheckSlowCalls},
    Check{"calls", CheckCalls},         Check{"ranks", CheckRanks},
    Check{"not told", CheckTold},
};

}  // namespace

std::string_view Word(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kLook:
      return "look";
    case Severity::kFault:
      return "fault";
  }
  return "look";
}

std::span<const Check> Checks() { return kChecks; }

std::vector<Diagnosis> Examine(const Checkup& checkup) {
  std::vector<Diagnosis> all;
  for (const Check& check : Checks()) {
    std::vector<Diagnosis> lines;
    check.run(checkup, &lines);
    for (Diagnosis& line : lines) {
      line.check = check.name;
      all.push_back(std::move(line));
    }
  }
  return all;
}

std::string FormatDiagnoses(const std::vector<Diagnosis>& lines) {
  size_t width = 0;
  for (const Diagnosis& line : lines) width = std::max(width, line.check.size());
  std::string text;
  for (const Diagnosis& line : lines) {
    text += fmt::format("{:<5}  {:<{}}  {}", Word(line.severity), line.check, width,
                        Printable(line.what, kMessageShown));
    if (!line.advice.empty()) text += fmt::format(": {}", Printable(line.advice, kMessageShown));
    text += "\n";
  }
  return text;
}

Json ToJson(const std::vector<Diagnosis>& lines) {
  Json all = Json::array();
  for (const Diagnosis& line : lines) {
    all.push_back({{"severity", Word(line.severity)},
                   {"check", line.check},
                   {"what", line.what},
                   {"advice", line.advice}});
  }
  return all;
}

}  // namespace halograph::ctl

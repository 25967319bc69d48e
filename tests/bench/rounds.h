// What variants cost, measured in interleaved rounds, and how a JSON line says so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/build_info.h"
#include "common/base/stopwatch.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"

namespace halograph {

// Of one variant, a value a round: seconds of processor time of the process, and on the clock.
struct Rounds {
  std::vector<double> cpu_s;
  std::vector<double> wall_s;
};

// Runs it `times` times, adds what one took, and returns the page faults of one.
template <typename Run>
double AddRound(const Run& run, int times, Rounds* rounds) {
  const Stopwatch wall;
  const double cpu = ProcessCpu(), faults = PageFaults();
  for (int i = 0; i < times; ++i) run();
  rounds->cpu_s.push_back((ProcessCpu() - cpu) / times);
  rounds->wall_s.push_back(wall.Seconds() / times);
  return (PageFaults() - faults) / times;
}

// Requires a value.
inline nlohmann::json Summary(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {{"median", Median(values)}, {"min", *least}, {"max", *most}};
}

// Round by round; as many of both.
inline std::vector<double> Ratios(const std::vector<double>& values,
                                  const std::vector<double>& others) {
  std::vector<double> ratios;
  for (size_t i = 0; i < values.size(); ++i) ratios.push_back(values[i] / others[i]);
  return ratios;
}

// A line: what is measured on what, then `facts` of the variant, then its costs, also relative to
// those of `other` in the same round.
inline nlohmann::json LineOf(const std::string& command, const nlohmann::json& facts,
                             const Rounds& rounds, const std::string& other_name,
                             const Rounds& other) {
  nlohmann::json line = {
      {"build", BuildVersion()},
      {"cpu", CpuModel()},
      {"command", command},
      {"rounds", rounds.wall_s.size()},
      {"cpu_s", Summary(rounds.cpu_s)},
      {"wall_s", Summary(rounds.wall_s)},
      {"cpu_times_" + other_name, Summary(Ratios(rounds.cpu_s, other.cpu_s))},
      {"wall_times_" + other_name, Summary(Ratios(rounds.wall_s, other.wall_s))}};
  line.update(facts);
  return line;
}

// As it was typed, without the folder of the program.
inline std::string CommandLine(const char* program, int argc, const char* const* argv) {
  std::string command = program;
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  return command;
}

}  // namespace halograph

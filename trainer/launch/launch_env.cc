#include "trainer/launch/launch_env.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "common/base/log.h"
#include "trainer/launch/slurm_nodes.h"

namespace halograph {
namespace {

std::optional<int> ParseNumber(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || text.empty() || value < 0) return std::nullopt;
  return value;
}

StatusOr<std::optional<int>> Number(const Environment& environment, const char* name) {
  const auto text = environment(name);
  if (!text.has_value()) return std::optional<int>();
  const auto value = ParseNumber(*text);
  if (!value.has_value()) {
    return InvalidArgument("environment variable {} is '{}', expected a number", name, *text);
  }
  return value;
}

struct Launcher {
  const char* rank;
  const char* size;
  std::vector<const char*> job;  // what tells its runs apart
};
const Launcher kLaunchers[] = {{"RANK", "WORLD_SIZE", {"TORCHELASTIC_RUN_ID"}},
                               {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"PMIX_NAMESPACE"}},
                               {"SLURM_PROCID", "SLURM_NTASKS", {"SLURM_JOB_ID", "SLURM_STEP_ID"}}};

// What torchrun calls a run that was given no id.
constexpr std::string_view kNoJob = "none";

// The values of those that are set, with dots between them.
std::optional<std::string> JobOf(const Environment& environment,
                                 const std::vector<const char*>& names) {
  std::vector<std::string> words;
  for (const char* name : names) {
    auto word = environment(name);
    if (word.has_value() && *word != kNoJob) words.push_back(*std::move(word));
  }
  if (words.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(words, "."));
}

// Where the first task of a Slurm step runs.
std::optional<std::string> FirstSlurmNode(const Environment& environment) {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    const auto list = environment(name);
    if (!list.has_value()) continue;
    StatusOr<std::string> first = FirstOfNodeList(*list);
    if (first.ok()) return *std::move(first);
    spdlog::warn("{}: {}; set MASTER_ADDR to the host of rank 0", name, Message(first.status()));
  }
  return std::nullopt;
}

}  // namespace

Environment ProcessEnvironment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

StatusOr<LaunchDefaults> ReadLaunchDefaults(const Environment& environment) {
  LaunchDefaults defaults;
  for (const Launcher& launcher : kLaunchers) {
    HG_ASSIGN_OR_RETURN(defaults.rank, Number(environment, launcher.rank));
    HG_ASSIGN_OR_RETURN(defaults.world_size, Number(environment, launcher.size));
    if (defaults.rank.has_value() != defaults.world_size.has_value()) {
      const bool rank_set = defaults.rank.has_value();
      return InvalidArgument("environment variable {} is set but {} is not: set both or neither",
                             rank_set ? launcher.rank : launcher.size,
                             rank_set ? launcher.size : launcher.rank);
    }
    if (!defaults.rank.has_value()) continue;
    if (launcher.rank == std::string_view("SLURM_PROCID") && *defaults.world_size > 1) {
      defaults.master_addr = FirstSlurmNode(environment);
    }
    defaults.job = JobOf(environment, launcher.job);
    break;
  }
  if (auto addr = environment("MASTER_ADDR")) defaults.master_addr = std::move(addr);
  HG_ASSIGN_OR_RETURN(defaults.master_port, Number(environment, "MASTER_PORT"));
  return defaults;
}

int RanksOnThisMachine(const Environment& environment) {
  for (const char* name :
       {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"}) {
    const auto text = environment(name);
    const auto value = text.has_value() ? ParseNumber(*text) : std::nullopt;
    if (value.has_value() && *value > 0) return *value;
  }
  return 1;
}

int RankOnThisMachine(const Environment& environment) {
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}) {
    const auto text = environment(name);
    const auto value = text.has_value() ? ParseNumber(*text) : std::nullopt;
    if (value.has_value() && *value >= 0) return *value;
  }
  return 0;
}

}  // namespace halograph

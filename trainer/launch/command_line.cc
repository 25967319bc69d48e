#include "trainer/launch/command_line.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/base/host_port.h"
#include "common/base/processors.h"
#include "common/sampling/request.h"
#include "trainer/launch/auto_model.h"
#include "trainer/launch/option_checks.h"
#include "trainer/launch/resolve.h"
#include "trainer/launch/run_config.h"
#include "trainer/models/registry.h"
#include "trainer/options/option_marks.h"

namespace halograph {
namespace {

// The host as c10d takes it, without brackets. What a launcher says is not looked at where one rank
// is alone.
Status ReadMasterAddr(const OptionTable& rows, TrainOptions& o) {
  const bool given = rows.given("master-addr");
  if (!given && o.world_size == 1) return OkStatus();
  StatusOr<std::string> host = ParseHost(o.master_addr);
  if (!host.ok()) {
    return InvalidArgument("{}: {}; the port is --master-port's",
                           given ? "--master-addr" : "MASTER_ADDR", Message(host.status()));
  }
  o.master_addr = *std::move(host);
  return OkStatus();
}

// Launcher's values for options that were not given.
Status ApplyLaunchDefaults(const OptionTable& rows, const Environment& environment,
                           TrainOptions& o) {
  const bool rank_given = rows.given("rank");
  const bool size_given = rows.given("world-size");
  if (rank_given && !size_given) return InvalidArgument("--rank needs --world-size beside it");
  if (size_given && !rank_given && o.world_size > 1) {
    return InvalidArgument("--world-size {} needs --rank beside it", o.world_size);
  }
  // What the user says of ranks counts, whatever half of it a launcher left in the environment.
  const Environment without_ranks = [&](const char* name) {
    return std::string_view(name).starts_with("MASTER_") ? environment(name) : std::nullopt;
  };
  const bool given = rank_given || size_given;
  HG_ASSIGN_OR_RETURN(const LaunchDefaults defaults,
                      ReadLaunchDefaults(given ? without_ranks : environment));
  if (!given) {
    o.rank = defaults.rank.value_or(o.rank);
    o.world_size = defaults.world_size.value_or(o.world_size);
  }
  if (!rows.given("job")) o.job = defaults.job.value_or("");
  const bool addr_given = rows.given("master-addr") || defaults.master_addr.has_value();
  if (!rows.given("master-addr")) {
    o.master_addr = defaults.master_addr.value_or(o.master_addr);
  }
  const bool port_given = rows.given("master-port") || defaults.master_port.has_value();
  if (!rows.given("master-port")) {
    o.master_port = defaults.master_port.value_or(o.master_port);
  }
  if (o.world_size > 1 && !(addr_given && port_given)) {
    return InvalidArgument(
        "world size {} needs {}: where the ranks meet", o.world_size,
        addr_given ? "--master-port (or MASTER_PORT)" : "--master-addr (or MASTER_ADDR)");
  }
  return ReadMasterAddr(rows, o);
}

// As the XDG base directory specification says; empty if the environment names no folder.
std::string UserCacheDir(const Environment& environment) {
  const auto absolute = [&](const char* name) -> std::optional<std::filesystem::path> {
    const auto value = environment(name);
    if (!value.has_value() || !std::filesystem::path(*value).is_absolute()) return std::nullopt;
    return *value;
  };
  if (const auto cache = absolute("XDG_CACHE_HOME")) return *cache / "halograph";
  if (const auto home = absolute("HOME")) return *home / ".cache" / "halograph";
  return "";
}

// Refuses an option that only other models have, with their names.
Status CheckOwner(const std::string& name, const OptionTable& rows, std::string_view chosen) {
  if (name.empty() || rows.Find(name) != nullptr) return OkStatus();
  std::string owners;
  for (const ModelKind& kind : ModelKinds()) {
    const auto options = kind.options();
    OptionTable of_kind;
    options->AddRows(of_kind);
    if (of_kind.Find(name) == nullptr) continue;
    owners += fmt::format("{}{}", owners.empty() ? "" : ", ", kind.name);
  }
  if (owners.empty()) return OkStatus();
  return InvalidArgument("--{}: --model {} has no such option; these have it: {}", name, chosen,
                         owners);
}

Status CheckOptionsOfOthers(std::span<const char* const> words, const RunConfig& config,
                            const OptionTable& rows, std::string_view chosen) {
  for (const std::string_view word : words) {
    if (!word.starts_with("--")) continue;
    const std::string name(word.substr(2, word.find('=') - 2));
    HG_RETURN_IF_ERROR(CheckOwner(name, rows, chosen));
  }
  for (const std::string& name : config.names()) {
    HG_RETURN_IF_ERROR(config.Annotated(name, CheckOwner(name, rows, chosen)));
  }
  return OkStatus();
}

// The rows, with those of the model that the words name, else the file; and the values of the file.
Status AddRows(std::span<const char* const> words, OptionTable& rows, TrainOptions* options,
               OptionMarks left_aside, RunConfig* config) {
  rows.Group("Configuration");
  rows.Add("config", &options->config,
           "YAML file of options, which those of the command line replace; or the log of a run, to "
           "repeat it")
      .ValueName("FILE");
  StatusOr<RunConfig> read = RunConfig();
  if (const auto path = ValueAmong(words, "config")) read = RunConfig::Read(*path);
  const Status readable = read.status();
  if (readable.ok()) *config = *std::move(read);
  const auto word = ValueAmong(words, "model");
  const std::string model(word ? *word : config->model().value_or(options->model));
  const auto named = OptionsOfModel(model);
  options->model_options = named.ok() ? *named : ModelKinds().front().options();
  AddTrainRows(rows, options, RegisteredModels());
  HG_RETURN_IF_ERROR(readable);
  if (named.ok()) {
    HG_RETURN_IF_ERROR(CheckOptionsOfOthers(words, *config, rows, model));
    return config->Apply(rows, left_aside);
  }
  const Status unknown = InvalidArgument("--model: {}", Message(named.status()));
  return word ? unknown : config->Annotated("model", unknown);
}

// The same bits need as many ranks, in whatever processes: those that are here share them.
Status TakeLoggedRanks(const RunConfig& config, const OptionTable& rows, TrainOptions& o) {
  const std::optional<int64_t> logged = config.logged_world_size();
  if (!logged.has_value() || *logged == o.world_size) return OkStatus();
  if (rows.given("world-size") || rows.given("logical-ranks")) return OkStatus();
  if (*logged % o.world_size == 0) {
    o.logical_ranks = static_cast<int>(*logged);
    return OkStatus();
  }
  return InvalidArgument(
      "--config {}: the log is of a run of {} ranks, which {} processes cannot share; start a "
      "number that divides it, or say --world-size {} for another run",
      o.config, *logged, o.world_size, o.world_size);
}

// Threads beyond the processors only take turns.
void ApplyProcessors(const OptionTable& rows, TrainOptions& o) {
  if (rows.given("sample-threads")) return;
  const int useful = std::max(AvailableProcessors(), o.threads_per_minibatch);
  o.sample_threads = std::min(o.sample_threads, useful);
}

// What full batches say of steps and neighbours.
void ApplyFullBatch(const OptionTable& rows, TrainOptions& o) {
  if (!o.tasks.node.full_batch) return;
  if (!rows.given("batch-size")) o.batch_size = kMaxBatchSize;
  if (rows.given("fanouts")) return;
  o.fanouts.assign(static_cast<size_t>(o.layers), kFullNeighborhood);
  o.relation_fanouts.clear();
}

// What a model without neighbours has no use for is not taken in silence.
Status CheckNeighborOptions(const OptionTable& rows, const std::string& model) {
  const auto kind = FindModelKind(model);
  if (!kind.ok() || (*kind)->needs.neighbors) return OkStatus();  // auto reads them
  for (const auto& row : rows.rows()) {
    if (!row->marked(kOfNeighbors) || !row->given()) continue;
    return InvalidArgument("{}: --model {} reads no neighbours; leave the option out", row->Flag(),
                           model);
  }
  return OkStatus();
}

}  // namespace

void AddTrainOptions(Program& program, TrainOptions* options, Environment environment,
                     LeftAside left_aside) {
  OptionTable& rows = program.options();
  program.AddStopTimeout();
  program.set_out_of_memory_advice(kTrainingMemoryAdvice);
  const auto config = std::make_shared<RunConfig>();
  program.command().BeforeReading([&rows, options, config, left_aside = std::move(left_aside)](
                                      std::span<const char* const> words) {
    const OptionMarks aside = left_aside == nullptr ? 0 : left_aside(words);
    return AddRows(words, rows, options, aside, config.get());
  });
  program.Check([&rows, options, config, environment = std::move(environment)] {
    TrainOptions& o = *options;
    HG_RETURN_IF_ERROR(ApplyLaunchDefaults(rows, environment, o));
    HG_RETURN_IF_ERROR(TakeLoggedRanks(*config, rows, o));
    if (o.topology == kTopologyLocal && o.cache_dir.empty()) {
      o.cache_dir = UserCacheDir(environment);
    }
    ApplyFullBatch(rows, o);
    ApplyProcessors(rows, o);
    HG_RETURN_IF_ERROR(Validate(o));
    HG_RETURN_IF_ERROR(CheckNeighborOptions(rows, o.model));
    HG_RETURN_IF_ERROR(CheckUnused(rows, o));
    Resolve(&o, environment);
    return OkStatus();
  });
}

}  // namespace halograph

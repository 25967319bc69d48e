#include "trainer/launch/command_line.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "common/base/build_info.h"
#include "common/base/units.h"

namespace halograph {
namespace {

constexpr int kWrongUsage = 2;

// What CLI11 parses as text and the library understands otherwise.
struct Texts {
  std::string timeout = "30s";
  std::string normalization = "none";
  std::string optimizer = "adam";
  std::string sampler_memory = {};
  std::string verify = "contents";
  std::string predict_nodes = "all";
};

void AddGraphOptions(CLI::App& app, TrainOptions& o, Texts& texts) {
  app.add_option("--graph", o.graph, "Partition folder, mapped here (embedded)")->group("Graph");
  app.add_option("--servers", o.servers,
                 "HOST:PORT of every partition server (partitioned, hybrid)")
      ->delimiter(',')
      ->group("Graph");
  app.add_option(
         "--topology", o.topology,
         "With --servers: servers (they sample; the default), or hybrid: local (fetched from "
         "them once), or a partition folder; write ./local for a folder of that name")
      ->group("Graph");
  app.add_option(
         "--local", o.local,
         "With --servers: partition folder; its parts are mapped, servers asked for the rest")
      ->group("Graph");
  app.add_option(
         "--cache-dir", o.cache_dir,
         "Where --topology local keeps what it fetched; default: $XDG_CACHE_HOME/halograph, "
         "else ~/.cache/halograph")
      ->group("Graph");
  app.add_option("--task", o.task, "Task to train for; default: the only one")->group("Graph");
  app.add_option("--features", o.features, "Features by name; default: the only ones, else feat")
      ->group("Graph");
  app.add_option("--normalize-features", texts.normalization,
                 "row: each row divided by the sum of its absolute values; none")
      ->check(CLI::IsMember({"row", "none"}))
      ->capture_default_str()
      ->group("Graph");
  app.add_option("--verify", texts.verify,
                 "What to check of folders that are mapped: headers, contents")
      ->check(CLI::IsMember({"headers", "contents"}))
      ->capture_default_str()
      ->group("Graph");
}

void AddRankOptions(CLI::App& app, TrainOptions& o, Texts& texts) {
  const std::string group = "Ranks";
  app.add_option("--rank", o.rank, "This process, from 0; default: RANK, Open MPI's, Slurm's")
      ->group(group);
  app.add_option("--world-size", o.world_size, "Processes; default: WORLD_SIZE, and so on")
      ->group(group);
  app.add_option("--master-addr", o.master_addr,
                 "Where rank 0 is, for two ranks and more; default: MASTER_ADDR")
      ->group(group);
  app.add_option("--master-port", o.master_port,
                 "Where rank 0 listens, for two ranks and more; default: MASTER_PORT")
      ->group(group);
  app.add_option("--timeout", texts.timeout, "Of every call and collective: 30s, 500ms, 2m")
      ->capture_default_str()
      ->group(group);
}

// `wrong`: what the rows, which are the model's own, say of their values.
void AddModelOptions(CLI::App& app, TrainOptions& o, const OptionTable& rows, Status* wrong) {
  const std::string group = "Model";
  std::string kinds;
  for (const ModelKind& kind : ModelKinds()) {
    kinds += fmt::format("{}{}: {}", kinds.empty() ? "" : "; ", kind.name, kind.help);
  }
  app.add_option("--model", o.model, kinds)->capture_default_str()->group(group);
  for (const auto& row : rows.rows()) {
    app.add_option_function<std::string>(
           row->Flag(),
           [row = row.get(), wrong](const std::string& text) {
             if (wrong->ok()) *wrong = row->Set(text);
           },
           row->help())
        ->default_str(row->default_text())
        ->group(group);
  }
  app.add_option("--layers", o.layers, "Layers")->capture_default_str()->group(group);
  app.add_option("--fanouts", o.fanouts, "From the seeds outward, one a layer; -1: all")
      ->delimiter(',')
      ->capture_default_str()
      ->group(group);
  app.add_flag("--replace", o.replace, "Sample with replacement")->group(group);
  app.add_option("--sampling-weights", o.sampling_weights,
                 "Edge feature to sample by, of the graph's alias tables; default: uniformly")
      ->group(group);
}

void AddTrainingOptions(CLI::App& app, TrainOptions& o, Texts& texts) {
  const std::string group = "Training";
  app.add_option("--batch-size", o.batch_size, "Seeds a step and rank")
      ->capture_default_str()
      ->group(group);
  app.add_option("--epochs", o.epochs, "Passes over the train seeds")
      ->capture_default_str()
      ->group(group);
  app.add_option("--optimizer", texts.optimizer, "adam or sgd")
      ->check(CLI::IsMember({"adam", "sgd"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--lr", o.learning_rate, "Learning rate")->capture_default_str()->group(group);
  app.add_option("--weight-decay", o.weight_decay, "L2 term of the optimizer")
      ->capture_default_str()
      ->group(group);
  app.add_option("--seed", o.seed, "Of all that is random")->capture_default_str()->group(group);
  app.add_option("--eval-every", o.eval_every, "Epochs between evaluations; 0: after the last only")
      ->capture_default_str()
      ->group(group);
  app.add_option("--eval-fanouts", o.eval_fanouts, "Default: as --fanouts")
      ->delimiter(',')
      ->group(group);
  app.add_option("--eval-batch-size", o.eval_batch_size, "Default: as --batch-size")->group(group);
}

void AddMachineOptions(CLI::App& app, TrainOptions& o, Texts& texts) {
  const std::string group = "Machine";
  app.add_option("--threads", o.threads,
                 "Threads for computation; 1: the same bits always; 0: the cores, shared by local "
                 "ranks")
      ->capture_default_str()
      ->group(group);
  app.add_option("--sample-threads", o.sample_threads, "Threads that prepare minibatches")
      ->capture_default_str()
      ->group(group);
  app.add_option("--threads-per-minibatch", o.threads_per_minibatch,
                 "Of them for each minibatch at least; 0: as few as --sampler-memory allows")
      ->capture_default_str()
      ->group(group);
  app.add_option("--sampler-memory", texts.sampler_memory,
                 "For the tables of all minibatches in the making (4 bytes a node each), as 8GiB; "
                 "default: an eighth of the machine's memory")
      ->group(group);
  app.add_option("--prefetch", o.prefetch, "Minibatches prepared ahead at most")
      ->capture_default_str()
      ->group(group);
}

void AddOutputOptions(CLI::App& app, TrainOptions& o, Texts& texts, std::string& log_level) {
  const std::string group = "Output";
  app.add_option("--log", o.log, "JSON lines, by rank 0: configuration, one an epoch, final")
      ->group(group);
  app.add_option("--predict", o.predict, "Predictions under original ids: FILE.npy or FILE.csv")
      ->group(group);
  app.add_option("--predict-nodes", texts.predict_nodes, "all nodes of the seeds' type, or test")
      ->check(CLI::IsMember({"all", "test"}))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--quiet", o.quiet, "No progress line")->group(group);
  app.add_option("--log-level", log_level, "trace, debug, info, warning, error, off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->capture_default_str()
      ->group(group);
}

// Launcher's values for options that were not given.
Status ApplyLaunchDefaults(const CLI::App& app, const Environment& environment, TrainOptions& o) {
  const bool rank_given = app.count("--rank") > 0;
  const bool size_given = app.count("--world-size") > 0;
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
  const bool addr_given = app.count("--master-addr") > 0 || defaults.master_addr.has_value();
  if (app.count("--master-addr") == 0) {
    o.master_addr = defaults.master_addr.value_or(o.master_addr);
  }
  const bool port_given = app.count("--master-port") > 0 || defaults.master_port.has_value();
  if (app.count("--master-port") == 0) {
    o.master_port = defaults.master_port.value_or(o.master_port);
  }
  if (o.world_size > 1 && !(addr_given && port_given)) {
    return InvalidArgument("world size {} needs --master-{} (or {}): where the ranks meet",
                           o.world_size, addr_given ? "port" : "addr",
                           addr_given ? "MASTER_PORT" : "MASTER_ADDR");
  }
  return OkStatus();
}

Status ApplyTexts(const Texts& texts, TrainOptions& o) {
  auto timeout = ParseDuration(texts.timeout);
  if (!timeout.ok()) return Annotate(timeout.status(), "--timeout");
  o.timeout = *timeout;
  HG_ASSIGN_OR_RETURN(o.verify, ParseVerifyLevel(texts.verify));
  o.normalization =
      texts.normalization == "row" ? FeatureNormalization::kRow : FeatureNormalization::kNone;
  o.optimizer = texts.optimizer == "sgd" ? OptimizerKind::kSgd : OptimizerKind::kAdam;
  if (!texts.sampler_memory.empty()) {
    auto bytes = ParseBytes(texts.sampler_memory);
    if (!bytes.ok()) return Annotate(bytes.status(), "--sampler-memory");
    o.sampler_memory = *bytes;
  }
  o.predict_nodes = texts.predict_nodes == "all" ? PredictNodes::kAll : PredictNodes::kTest;
  return OkStatus();
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

// A variable of a script that was not set must not read as an option that was not given.
Status RefuseEmptyValues(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (std::find(values.begin(), values.end(), "") == values.end()) continue;
    return InvalidArgument("{} is empty: give a value, or leave the option out",
                           option->get_name());
  }
  return OkStatus();
}

Status Finish(const CLI::App& app, const Texts& texts, const Environment& environment,
              TrainOptions& o) {
  HG_RETURN_IF_ERROR(RefuseEmptyValues(app));
  HG_RETURN_IF_ERROR(ApplyTexts(texts, o));
  HG_RETURN_IF_ERROR(ApplyLaunchDefaults(app, environment, o));
  if (o.topology == kTopologyLocal && o.cache_dir.empty()) o.cache_dir = UserCacheDir(environment);
  HG_RETURN_IF_ERROR(o.Validate());
  o.Resolve();
  return OkStatus();
}

// The last value of --model: which model's options there are follows from it.
std::string_view ModelNamed(int argc, const char* const* argv, std::string_view otherwise) {
  constexpr std::string_view kOption = "--model";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == kOption && i + 1 < argc) otherwise = argv[i + 1];
    if (word.starts_with(kOption) && word.substr(kOption.size()).starts_with('=')) {
      otherwise = word.substr(kOption.size() + 1);
    }
  }
  return otherwise;
}

}  // namespace

ParsedCommandLine ParseCommandLine(int argc, const char* const* argv,
                                   const Environment& environment) {
  ParsedCommandLine parsed;
  Texts texts;
  CLI::App app("Trains a graph neural network on a partitioned graph", "halograph-train");
  app.set_version_flag("--version", "halograph-train " + BuildVersion());
  AddGraphOptions(app, parsed.options, texts);
  AddRankOptions(app, parsed.options, texts);
  const auto kind = FindModelKind(ModelNamed(argc, argv, parsed.options.model));
  OptionTable model_rows;
  Status model_status = kind.status();
  if (kind.ok()) {
    parsed.options.model_options = (*kind)->options();
    parsed.options.model_options->AddRows(model_rows);
  } else {
    app.allow_extras();  // the options of a model that is not there
  }
  AddModelOptions(app, parsed.options, model_rows, &model_status);
  AddTrainingOptions(app, parsed.options, texts);
  AddMachineOptions(app, parsed.options, texts);
  AddOutputOptions(app, parsed.options, texts, parsed.log_level);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : kWrongUsage;
    return parsed;
  }
  Status status = Finish(app, texts, environment, parsed.options);
  if (status.ok()) status = model_status;
  if (!status.ok()) {
    fmt::print(stderr, "halograph-train: {}\nRun with --help for the options.\n", Message(status));
    parsed.exit_code = kWrongUsage;
  }
  return parsed;
}

}  // namespace halograph
